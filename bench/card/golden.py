"""Compares logits of the packed models with golden ones, with those of other chunks, and with the host's.

With f32 activations and cache, the program promises logits within 2e-3 of the golden ones. On one device, chunks of a
prompt have the same bits whatever their lengths. The program says where the
host's bits are promised."""

import array
import json
import os
from dataclasses import dataclass, field

from commands import Failed, OutOfTime
from records import Row

PROMISED = 2e-3
MIXED_TOKENS = 129  # of the mixed models' 1,200 tokens, for a tenth of the time


@dataclass
class Case:
    name: str
    model: str
    ids: list
    positions: list  # positions of the golden rows; empty: all
    golden: str
    quantised: bool = False


@dataclass
class Tally:
    """The findings on one interface. Lists hold the names of cases."""

    done: int = 0
    wrong: list = field(default_factory=list)
    largest: float = 0.0
    other_pieces: list = field(default_factory=list)
    host_same: list = field(default_factory=list)
    host_other: list = field(default_factory=list)
    broken_promises: list = field(default_factory=list)
    failed: list = field(default_factory=list)  # name: reason


def _read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def cases(data):
    """All cases, the most useful first: quick to compile, then all storage types, then all architectures."""
    found, stored = [], []
    mixed = os.path.join(data, "mixed-models")
    golden = _read(os.path.join(mixed, "golden.json"))
    positions = [position for position in golden["positions"] if position < MIXED_TOKENS]
    for name in ("first", "second", "wide"):
        stored.append(Case(name, os.path.join(mixed, name + ".gguf"), golden["prompt"][:MIXED_TOKENS], positions,
                           os.path.join(mixed, name + ".logits.f32"), True))
    tiny = os.path.join(data, "tiny-models")
    for entry in _read(os.path.join(tiny, "golden", "golden.json")):
        if entry["gguf"] == "stories260K-F16.gguf":
            found.append(Case(entry["logits_file"].split(".logits")[0], os.path.join(tiny, entry["gguf"]), entry["prompt_ids"], [],
                              os.path.join(tiny, "golden", entry["logits_file"])))
    architectures = os.path.join(data, "arch-models")
    golden = _read(os.path.join(architectures, "golden.json"))
    for name in ("qwen3", "deepseek2", "qwen3moe", "llama3-rope", "qwen2", "internlm2", "qwen2moe"):
        entry = golden["models"][name]["text"]
        found.append(Case(name, os.path.join(architectures, name + "-F32.gguf"), entry["prompt"] + entry["greedy"], [],
                          os.path.join(architectures, name + "-F32.text.logits.f32")))
    return found[:4] + stored + found[4:]


def floats(path):
    values = array.array("f")
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return values


def largest_difference(logits, golden, width, positions):
    """The largest difference to the golden rows at `positions` (empty: all); infinite for other sizes or NaN."""
    if not positions and len(logits) != len(golden):
        return float("inf")
    rows = positions or range(len(golden) // width)
    largest = 0.0
    for row, position in enumerate(rows):
        found, expected = logits[position * width : (position + 1) * width], golden[row * width : (row + 1) * width]
        if len(found) != width or len(expected) != width:
            return float("inf")
        worst = max(abs(a - b) for a, b in zip(found, expected))
        if any(a != a for a in found):
            return float("inf")
        largest = max(largest, worst)
    return largest


def check(case, device, evaluate, tally):
    """Adds one case. evaluate(case, plan, device, act, chunk) gives (logits, width, promised) or raises Failed.
    Chunk 0 is the whole prompt. promised: the program says that every plan has these bits."""
    try:
        whole, width, promised = evaluate(case, "gpu-only", device, "f32", 0)
        difference = largest_difference(whole, floats(case.golden), width, case.positions)
        tally.done += 1
        tally.largest = max(tally.largest, difference)
        if not difference <= PROMISED:
            tally.wrong.append(f"{case.name}: {difference:.2g}")
        pieces, _, _ = evaluate(case, "gpu-only", device, "f32", 7)
        if pieces.tobytes() != whole.tobytes():
            tally.other_pieces.append(case.name)
        compare_with_host(case, device, "f32", evaluate, tally, (whole, promised))
        if case.quantised:
            compare_with_host(case, device, "i8", evaluate, tally)
    except OutOfTime:
        raise
    except Failed as failure:
        tally.failed.append(f"{case.name}: {failure}")


def compare_with_host(case, device, act, evaluate, tally, known=None):
    if known is None:
        logits, _, promised = evaluate(case, "gpu-only", device, act, 0)
    else:
        logits, promised = known
    host, _, host_promised = evaluate(case, "host-only", "host", act, 0)
    name = f"{case.name} {act}"
    if logits.tobytes() == host.tobytes():
        tally.host_same.append(name)
        return
    tally.host_other.append(name)
    if promised and host_promised:
        tally.broken_promises.append(name)


def rows(tally, who, expected, why_short):
    """Rows of the report (records.Row). expected: the number of cases; why_short: why some were not run, or ""."""
    short = f"; {tally.done} of {expected} cases: {why_short}" if tally.done + len(tally.failed) < expected else ""
    good = tally.done - len(tally.wrong)
    problems = tally.wrong + tally.failed
    found = [Row("correct", who, "golden logits", f"{good} of {tally.done + len(tally.failed)} within {PROMISED:g}, at most {tally.largest:.2g} off{short}",
                 "failed" if problems or not tally.done else "ok", "; ".join(problems))]
    if tally.done:
        found.append(Row("correct", who, "the same bits in pieces of 7 tokens", f"{tally.done - len(tally.other_pieces)} of {tally.done}",
                         "failed" if tally.other_pieces else "ok", "; ".join(tally.other_pieces)))
        compared = len(tally.host_same) + len(tally.host_other)
        found.append(Row("correct", who, "the host's bits", f"{len(tally.host_same)} of {compared}", "failed" if tally.broken_promises else "ok",
                         "promised, but other bits: " + "; ".join(tally.broken_promises) if tally.broken_promises else
                         "not promised of: " + ", ".join(tally.host_other) if tally.host_other else ""))
    return found
