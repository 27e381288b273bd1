"""Samples of first_contact.py, taken in turns, and how they are judged: lines of the table. Starts no processes."""

import random
from dataclasses import dataclass, field
from statistics import median

import figures
from figures import MET, MISSED, NO_TARGET

LENGTHS = (3, 1000)


def random_lengths(count, seed):
    """Different prompt lengths, in rising order."""
    return sorted(random.Random(seed).sample(range(LENGTHS[0], LENGTHS[1] + 1), count))


@dataclass
class Samples:
    """Samples of one quantity: "new" and "warm" are Tandem's, "peer" the peer's. Equal indices are of one round."""

    new: list = field(default_factory=list)
    warm: list = field(default_factory=list)
    peer: list = field(default_factory=list)

    def ratio(self, beside):
        """The median over rounds of new / beside; samples of a round share the same minute of the machine."""
        return median(a / b for a, b in zip(self.new, getattr(self, beside)))

    def difference(self, beside):
        return median(a - b for a, b in zip(self.new, getattr(self, beside)))


def in_turns(rounds, measures):
    """{who: [samples]} from {who: function}; each round begins with another one."""
    samples = {who: [] for who in measures}
    order = list(measures)
    for number in range(rounds):
        shift = number % len(order)
        for who in order[shift:] + order[:shift]:
            samples[who].append(measures[who]())
    return samples


@dataclass
class Line:
    """One line of the table. Values are medians in `unit`; None: there is no value."""

    name: str
    unit: str = "s"
    new: float = None
    warm: float = None
    peer: float = None
    judged: str = ""  # the judged figure as a text, with its value: "1.03 x warm"
    value: float = None
    target: str = "–"
    verdict: str = NO_TARGET
    problem: str = ""


def _medians(samples):
    return {who: median(getattr(samples, who)) if getattr(samples, who) else None for who in ("new", "warm", "peer")}


def ratio_line(name, samples, beside, target, unit="s"):
    """A line that is judged by new / beside; `target` may be None."""
    value = samples.ratio(beside)
    named = "the peer" if beside == "peer" else "warm"
    return Line(name, unit, **_medians(samples), judged=f"{value:.3f} x {named}", value=value,
                target=str(target) if target else "–", verdict=figures.judge(value, target))


def difference_line(name, samples, beside, most_seconds):
    """A line that is judged by new - beside."""
    value = samples.difference(beside)
    named = "the peer" if beside == "peer" else "warm"
    return Line(name, "s", **_medians(samples), judged=f"{named} {value:+.3f} s", value=value,
                target=f"≤ {named} + {most_seconds:g} s", verdict=MET if value <= most_seconds else MISSED)


def worst_line(name, all_samples, beside, target):
    """A line that is judged by the worst of many ratios, each of its own prompt, so every ratio must meet the target.
    The values are sums over all of them."""
    ratios = [samples.ratio(beside) for samples in all_samples]
    worst = max(ratios) if not target.at_least else min(ratios)
    good = sum(target.met_by(ratio) for ratio in ratios)
    named = "the peer" if beside == "peer" else "warm"
    sums = {who: sum(median(getattr(samples, who)) for samples in all_samples) for who in ("new", "warm", "peer")}
    judged = f"{median(ratios):.3f} x {named}, worst {worst:.3f}, {good} of {len(ratios)} met"
    return Line(name, "s", **sums, judged=judged, value=worst, target=f"{target} for each",
                verdict=MET if good == len(ratios) else MISSED)


def failed_line(name, problem):
    """A failed row has missed its target: no row passes without having run."""
    return Line(name, verdict=MISSED, problem=problem)


def _number(value, unit):
    if value is None:
        return "–"
    return f"{value:.3f}" if unit == "s" else f"{value:.1f}"


def table(all_lines):
    rows = ["| what | unit | Tandem | the same warm | peer | ratio | target | |",
            "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |"]
    for line in all_lines:
        cells = [line.name, line.unit, *(_number(value, line.unit) for value in (line.new, line.warm, line.peer)),
                 line.judged or "–", line.target, "missed, it failed" if line.problem else line.verdict]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def length_table(lengths, all_samples):
    rows = ["| tokens | Tandem, s | the same warm, s | peer, s | / warm | / peer |",
            "| ---: | ---: | ---: | ---: | ---: | ---: |"]
    for length, samples in zip(lengths, all_samples):
        values = _medians(samples)
        rows.append(f"| {length} | {values['new']:.3f} | {values['warm']:.3f} | {values['peer']:.3f} | "
                    f"{samples.ratio('warm'):.3f} | {samples.ratio('peer'):.3f} |")
    return rows
