"""The report of compare.py as Markdown and as JSON. Neither contains a path of the machine."""

import dataclasses
import os
import platform
import time
from dataclasses import dataclass, field
from statistics import median

import figures

SCHEMA = 1
QUIET_BELOW_CORES = 0.1


def machine_facts(cores):
    return {
        "processor": _processor(),
        "cores": sorted(cores),
        "cores_of_machine": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "date": time.strftime("%Y-%m-%d %H:%M %z"),
        "load_average": os.getloadavg()[0],
    }


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


@dataclass
class TypeReport:
    """One model file. The handshakes are from before and after its measurements; None: no reading."""

    type_name: str
    file_name: str
    file_bytes: int
    speed: list = field(default_factory=list)  # of Result
    start: list = field(default_factory=list)  # of Result
    shares: list = field(default_factory=list)  # of Share
    left_out: list = field(default_factory=list)  # sentences
    failures: list = field(default_factory=list)  # sentences; each is a missed target
    handshake_us: tuple = (None, None)
    other_load_cores: float = None  # cores that other processes kept busy meanwhile, the wanted neighbour included

    def verdicts(self):
        lines = [*self.speed, *self.start, *self.shares]
        return [line.verdict for line in lines] + [figures.MISSED] * len(self.failures)


@dataclass
class Report:
    machine: dict
    settings: dict
    peer: str
    tandem: str
    types: list = field(default_factory=list)

    def counts(self):
        return figures.count_verdicts(verdict for one in self.types for verdict in one.verdicts())

    def disturbed(self, one):
        """True if unwanted load ran beside it. The peer loses more by it than Tandem, so ratios come out too high."""
        load = one.other_load_cores
        return not self.settings["neighbour"] and load is not None and load >= QUIET_BELOW_CORES


def as_json(report):
    tree = {"schema": SCHEMA, "bench": "peers", "clock": "measured", **dataclasses.asdict(report)}
    for type_tree, one in zip(tree["types"], report.types):
        for kind in ("speed", "start"):
            for line_tree, line in zip(type_tree[kind], getattr(one, kind)):
                line_tree["ratios"] = line.pairs.ratios
        for share_tree, share in zip(type_tree["shares"], one.shares):
            share_tree["quotient"] = share.quotient
    tree["verdicts"] = report.counts()
    return tree


def _table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 2) + " --- |"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _number(value, unit):
    return f"{value:.3f}" if unit == "s" else f"{value:.1f}"


def _result_row(result, name):
    target = str(result.target) if result.target else "–"
    if not result.pairs.ratios:
        return [name, "–", "–", "–", target, result.verdict]
    ratios = result.pairs.ratios
    return [name, _number(median(result.pairs.peer), result.unit), _number(median(result.pairs.tandem), result.unit),
            f"{result.pairs.ratio:.3f} [{min(ratios):.3f}, {max(ratios):.3f}]", target, result.verdict]


def _share_row(share):
    target = "–"
    if share.target:
        target = f"{'≥' if share.target.at_least else '≤'} {100 * share.target.bound:g} %"
    return [share.name, f"{share.value:.1f} {share.unit}", f"{share.limit:.1f} {share.unit}",
            f"{100 * share.quotient:.1f} %", target, share.verdict]


def _handshake_text(reading):
    return "none" if reading is None else f"{reading:.3f} µs"


def _conditions(one, report, cores):
    """Sentences on whether the machine was as the ratios assume."""

    sentences = [_placement(one, cores)] if cores == figures.JUDGED_CORES else []
    if one.other_load_cores is not None:
        warning = ": **not a quiet machine, measure again**" if report.disturbed(one) else ""
        sentences.append(f"Other processes kept {one.other_load_cores:.2f} cores busy{warning}.")
    return [" ".join(sentences), ""]


def _placement(one, cores):
    before, after = one.handshake_us
    text = f"Flag handshake before {_handshake_text(before)}, after {_handshake_text(after)}"
    reason = figures.why_not_judged(before, after, cores)
    if reason == figures.CORES_MOVED:
        text += f": they disagree about {figures.ONE_CORE_BELOW_US} µs, the virtual cores moved meanwhile"
    elif reason == figures.ONE_PHYSICAL_CORE:
        text += f": below {figures.ONE_CORE_BELOW_US} µs, both virtual cores are one physical core"
    return text + "."


def _type_section(one, report, cores):
    lines = [f"## {one.type_name} ({one.file_bytes / 1e6:.1f} MB)", "", *_conditions(one, report, cores)]
    if one.speed:
        lines += _table(["test", "peer t/s", "Tandem t/s", "Tandem / peer [lowest, highest]", "target", "verdict"],
                        [_result_row(result, result.name) for result in one.speed]) + [""]
    if one.start:
        lines += _table(["whole process", "peer", "Tandem", "Tandem / peer [lowest, highest]", "target", "verdict"],
                        [_result_row(result, f"{result.name}, {result.unit}") for result in one.start]) + [""]
    if one.shares:
        lines += _table(["share", "reached", "of", "share", "target", "verdict"], map(_share_row, one.shares)) + [""]
    problems = [f"{result.name}: {result.problem}" for result in [*one.speed, *one.start] if result.problem]
    return lines + [f"- {problem}" for problem in problems + one.left_out + one.failures]


def _given(settings):
    return f"--act {settings['act']}, else defaults of a user" if settings["act"] else "defaults of a user"


def _method(report):
    settings = report.settings
    lines = [
        f"{report.tandem} ({_given(settings)}) against {report.peer}, both on {len(report.machine['cores'])} core(s). "
        f"{settings['pairs']} pair(s) after one ignored warm-up pair; every sample is a process of its own, the order "
        "alternates (A B, B A, …), numbers are medians, ratios are the median [lowest, highest] of the pairs.",
        "Both get the same number of tokens, each its own made-up ones: which tokens they are does not change the "
        "speed of a dense model. Each process warms up untimed (llama-bench with the prompt or one token, Tandem with "
        "the whole test) and fills the cache to the depth (@d) untimed. Start to a token is the wall time of the whole "
        "process, with files and compiled kernels in the caches of earlier runs.",
    ]
    if len(report.machine["cores"]) == figures.JUDGED_CORES:
        lines.append("Flag handshake: round trip of a cache line between two threads (`tandem bench-sync`); "
                     f"below {figures.ONE_CORE_BELOW_US} µs ratios are not judged.")
    else:
        lines.append(f"Targets of ratios are set for {figures.JUDGED_CORES} cores, so here they have none.")
    if settings["neighbour"]:
        lines.append("Another process computed all the time, on whichever core the system gave it.")
    return [line for paragraph in lines for line in (paragraph, "")]


def as_markdown(report):
    machine, counts = report.machine, report.counts()
    cores = len(machine["cores"])
    lines = [
        f"# {report.settings['model']} against the peer",
        "",
        f"{machine['processor']}, {cores} of {machine['cores_of_machine']} core(s), {machine['system']}, "
        f"{machine['date']}, load average {machine['load_average']:.2f} at the start.",
        "",
        *_method(report),
    ]
    for one in report.types:
        lines += [*_type_section(one, report, cores), ""]
    met, missed, not_judged = (counts[kind] for kind in (figures.MET, figures.MISSED, figures.NOT_JUDGED))
    lines.append(f"{met} met, {missed} missed, {not_judged} not judged.")
    if any(report.disturbed(one) for one in report.types):
        lines[-1] += " **The machine was not quiet: the ratios are probably too high.**"
    text = "\n".join(lines) + "\n"
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text
