#!/usr/bin/env python3
"""Drafts from what was read and written: `tandem run --spec auto` and llama.cpp's n-gram drafts, in turns on the same cores.

The peer is the wheel xllamacpp, whose interpreter is named by --peer-python (`python3 -m venv V; V/bin/pip install
xllamacpp`). Each file FOLDER/TASK-NAME.txt is a prompt of a task, in the model's own chat form. Every sample is a process
of its own that writes all prompts greedily, after a first text that is not counted. In a round each engine writes without
drafts and with each kind. The text with drafts is compared with the same engine's text without. Times are measured.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

sys.dont_write_bytecode = True  # leaves no files beside the sources

import figures  # noqa: E402
import processes  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
from processes import Failed  # noqa: E402

KINDS = ["ngram-simple", "ngram-map-k", "ngram-mod", "ngram-cache"]
MOST = 16  # of the peer's second setting
WARM_UP = "<|im_start|>user\nSay yes, yes, yes.<|im_end|>\n<|im_start|>assistant\n"
_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "drafts_server.py")


def answers_in(output, count):
    """The JSON objects of the prompts, one a line, without that of the first text."""
    try:
        answers = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    except ValueError as error:
        raise Failed(f"not JSON: {error}") from error
    if len(answers) != count + 1:
        raise Failed(f"{len(answers)} answers to {count + 1} prompts")
    return answers[1:]


def configurations(acts):
    """[(engine, kind, how)]: how is the peer's (type, most drafts) or Tandem's (act, spec). Plain ones come first."""
    peers = [("llama.cpp", "plain", ("none", None))]
    for kind in KINDS:
        peers += [("llama.cpp", kind, (kind, None)), ("llama.cpp", f"{kind}, {MOST}", (kind, MOST))]
    return peers + [(f"Tandem {act}", kind, (act, spec)) for act in acts for kind, spec in
                    (("plain", "none"), ("auto", "auto"))]


class Writers:
    """Both engines, each started anew for a sample."""

    def __init__(self, given, prompts):
        self._given, self._prompts = given, prompts
        self._tandem = programs.find_tandem(given.tandem)
        if self._tandem is None:
            raise Failed("there is no tandem; ./dev build makes it")

    def answers(self, engine, how):
        output = self._theirs(*how) if engine == "llama.cpp" else self._ours(*how)
        return answers_in(output, len(self._prompts))

    def warm(self, act):
        """Compiles the kernels of `act`, so that no timed pass waits for them."""
        processes.run([self._tandem, "warm", "-m", self._given.model, "--act", act], self._given.timeout)

    def _theirs(self, kind, most):
        asked = {"model": self._given.model, "threads": len(figures.parse_cores(self._given.cores)), "type": kind,
                 "draft_max": most, "count": self._given.generate, "prompts": [WARM_UP, *self._texts()]}
        time.sleep(processes.PAUSE_SECONDS)
        done = subprocess.run([self._given.peer_python, _SERVER], input=json.dumps(asked), capture_output=True, text=True,
                              timeout=self._given.timeout)
        if done.returncode != 0:
            raise Failed(f"the peer ended with status {done.returncode}", done.stderr[-800:])
        return done.stdout

    def _texts(self):
        return [open(path, encoding="utf-8").read() for _, path in self._prompts]

    def _ours(self, act, spec):
        lines = [json.dumps({"prompt": text}) for text in [WARM_UP, *self._texts()]]
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".jsonl") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            return processes.run([self._tandem, "run", "-m", self._given.model, "--jsonl", file.name, "-np", "1", "-n",
                                  str(self._given.generate), "--temp", "0", "--act", act, "--spec", spec],
                                 self._given.timeout).output


def rate_of(answers, at):
    """Tokens/s of writing over the prompts of a task."""
    timings = [answers[i]["timings"] for i in at]
    return sum(t["predicted_n"] if "predicted_n" in t else t["predicted_tokens"] for t in timings) / sum(
        t["predicted_ms"] for t in timings) * 1000


def accepted_of(answers, at):
    drafted = sum(answers[i]["timings"].get("draft_n", 0) for i in at)
    return sum(answers[i]["timings"].get("draft_n_accepted", 0) for i in at) / drafted if drafted else None


def rows_of(task, at, rounds):
    """[(engine, kind, tokens/s, beside plain, accepted share, same text)] of a task; `rounds` are {(engine, kind): answers}."""
    rows = []
    for engine, kind in rounds[0]:
        rates = [rate_of(one[engine, kind], at) for one in rounds]
        gains = [rate_of(one[engine, kind], at) / rate_of(one[engine, "plain"], at) for one in rounds]
        same = all(one[engine, kind][i]["text"] == rounds[0][engine, "plain"][i]["text"] for one in rounds for i in at)
        rows.append((engine, kind, median(rates), median(gains), accepted_of(rounds[0][engine, kind], at), same))
    return rows


def ratios_of(rows, act):
    """(auto over the peer's best, the gain of auto over the largest gain of the peer)"""
    theirs = [row for row in rows if row[0] == "llama.cpp"]
    ours = next(row for row in rows if row[:2] == (f"Tandem {act}", "auto"))
    return ours[2] / max(row[2] for row in theirs), ours[3] / max(row[3] for row in theirs)


def tables(by_task, acts):
    """Lines of Markdown: every sample's medians, then the ratios."""
    lines = ["| task | engine | kind | tokens/s | beside its plain | accepted | same text as plain |",
             "| --- | --- | --- | ---: | ---: | ---: | --- |"]
    for task, rows in by_task.items():
        for engine, kind, rate, gain, accepted, same in rows:
            share = "–" if accepted is None else f"{100 * accepted:.0f} %"
            lines.append(f"| {task} | {engine} | {kind} | {rate:.1f} | {gain:.2f} | {share} | {'yes' if same else 'no'} |")
    lines += ["", "| task | act | auto / the peer's best | gain / the peer's largest gain |", "| --- | --- | ---: | ---: |"]
    for task, rows in by_task.items():
        for act in acts:
            best, gain = ratios_of(rows, act)
            lines.append(f"| {task} | {act} | {best:.2f} | {gain:.2f} |")
    return lines


def measured_rounds(given, writers, acts):
    """At most given.rounds rounds; none begins if it would end after given.seconds."""
    rounds, began = [], time.monotonic()
    while len(rounds) < given.rounds:
        spent = time.monotonic() - began
        if rounds and spent + spent / len(rounds) > given.seconds:
            break
        wanted = configurations(acts)
        rounds.append({(engine, kind): writers.answers(engine, how) for engine, kind, how in wanted})
        print(f"round {len(rounds)} of {given.rounds}, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="prompts: TASK-NAME.txt")
    parser.add_argument("--peer-python", required=True, help="an interpreter with xllamacpp")
    parser.add_argument("-m", "--model", default=programs.default_model())
    parser.add_argument("-n", "--generate", type=int, default=128)
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no round that would end later")
    parser.add_argument("--act", default="f16,i8", help="of Tandem; the peer's are 8 bits wide")
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--tandem")
    parser.add_argument("--timeout", type=float, default=900)
    given = parser.parse_args()
    if given.rounds < 1:
        raise Failed("-r: at least one round")
    prompts = [(os.path.basename(path).split("-")[0], path) for path in sorted(glob.glob(os.path.join(given.folder, "*-*.txt")))]
    if not prompts:
        raise Failed(f"no TASK-NAME.txt in {given.folder}")
    cores, acts = figures.parse_cores(given.cores), given.act.split(",")
    os.sched_setaffinity(0, cores)
    writers = Writers(given, prompts)
    for act in acts:
        writers.warm(act)
    rounds = measured_rounds(given, writers, acts)
    at = {task: [i for i, (other, _) in enumerate(prompts) if other == task] for task, _ in prompts}
    machine = report.machine_facts(cores)
    print(f"{machine['processor']}, {len(cores)} cores, {machine['date']}; {len(prompts)} prompts, at most {given.generate} "
          f"tokens of each; medians of {len(rounds)} rounds in turns (measured)\n")
    print("\n".join(tables({task: rows_of(task, where, rounds) for task, where in at.items()}, acts)))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(f"drafts.py: {failure}")
