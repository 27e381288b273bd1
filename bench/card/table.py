"""The report of a run as Markdown, made only from card.json; `table.py card.json` makes it again."""

import json
import sys


def _cell(row):
    if row is None:
        return ""
    if row["status"] != "ok":
        return row["status"]
    value = row["value"]
    if isinstance(value, (int, float)):
        value = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        spread = row["detail"].get("spread")
        if spread is not None and spread >= 0.05 * row["value"]:
            value += f" ± {spread:,.0f}"
    return str(value)


def _words(text):
    return " ".join(str(text).replace("|", "/").split())


def _grid(rows, corner):
    """A row for each `who` and a column for each `what`, both in order of appearance."""
    who, what, cells = [], [], {}
    for row in rows:
        if row["who"] not in who:
            who.append(row["who"])
        if row["what"] not in what:
            what.append(row["what"])
        cells[row["who"], row["what"]] = row
    lines = ["| " + " | ".join([corner, *what]) + " |", "| --- |" + " ---: |" * len(what)]
    lines += ["| " + " | ".join([one, *(_words(_cell(cells.get((one, column)))) for column in what)]) + " |" for one in who]
    return lines


def _facts(facts):
    order = ("card", "driver", "date", "processor", "cores", "system", "program", "peer", "model", "seconds")
    return ["| fact | |", "| --- | --- |"] + [f"| {name} | {_words(facts[name])} |" for name in order if facts.get(name)]


SECTIONS = (("correct", "Correct", "interface"), ("first text", "The first texts, nothing compiled before", "text"),
            ("speed", "Speed, tokens/s", "program, devices"), ("texts", "Many texts at once, tokens/s of all", "program, devices"),
            ("waiting", "Handing over an empty step, µs (median)", "device"))


def _reasons(known):
    """A line for each reason, with everything that it explains. A step is named only if no row has its reason."""
    whats = {}
    for row in known["rows"]:
        if row["status"] != "ok":
            whats.setdefault((row["who"], row["status"], row["reason"]), []).append(row["what"])
    lines = [f"- {who} ({', '.join(what)}): {status}: {_words(reason)}" for (who, status, reason), what in whats.items()]
    in_rows = {reason for _, _, reason in whats}
    return lines + [f"- step \"{step['name']}\": {step['status']}: {_words(step['reason'])}" for step in known["steps"]
                    if step["status"] != "ok" and step["reason"] not in in_rows]


def table(known):
    lines = [f"# {known['facts'].get('card', 'A graphics card')}", "", "All times are measured (wall clock). Timed steps ran alone.", ""]
    lines += _facts(known["facts"])
    for section, title, corner in SECTIONS:
        rows = [row for row in known["rows"] if row["section"] == section]
        if rows:
            lines += ["", f"## {title}", "", *_grid(rows, corner)]
    reasons = _reasons(known)
    if reasons:
        lines += ["", "## What gave no figure, and why", "", *reasons]
    notes = [f"- {row['who']}, {row['what']}: {_words(row['reason'])}" for row in known["rows"] if row["status"] == "ok" and row["reason"]]
    if notes:
        lines += ["", "## Notes of the runs", "", *dict.fromkeys(notes)]
    lines += ["", "## Steps", "", "| step | began at, s | took, s | |", "| --- | ---: | ---: | --- |"]
    lines += [f"| {step['name']} | {step['began']:.0f} | {step['seconds']:.1f} | {step['status']} |" for step in known["steps"]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as given:
        sys.stdout.write(table(json.load(given)))
