"""What Tandem says about devices, plans and passes."""
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Sequence, Union

import numpy as np

from . import _tandem


def devices() -> list[dict[str, Any]]:
    """Each device of this machine, opened and closed again: the members of `tandem devices --json`. A device that
    cannot be opened has a member `error`."""
    return list(json.loads(_tandem.devices()))


@dataclass(frozen=True)
class Step:
    """A program on a device. `waits` are indices of steps; times are predicted milliseconds of the pass."""

    device: str
    waits: list[int]
    start_ms: float
    end_ms: float
    operators: list[dict[str, Any]]


@dataclass(frozen=True)
class Phase:
    """The plan of one pass: `name` is "prefill" or "decode"; `plan` says which strategy made it."""

    name: str
    tokens: int
    position: int
    plan: str
    predicted_ms: float
    busy_ms: dict[str, float]
    steps: list[Step]
    report: dict[str, Any]  # the phase as `tandem plan --json` has it


@dataclass(frozen=True)
class Plan:
    """The plans of a prompt and of one token behind it, with times predicted from what was measured here."""

    phases: list[Phase]
    report: dict[str, Any]


def plan_of(text: str) -> Plan:
    report = json.loads(text)
    phases = [
        Phase(each["phase"], each["tokens"], each["position"], each["plan"], each["predicted_ms"], each["busy_ms"],
              [Step(s["device"], s["waits"], s["start_ms"], s["end_ms"], s["operators"]) for s in each["steps"]], each)
        for each in report["phases"]
    ]
    return Plan(phases, report)


@dataclass(frozen=True)
class SyncRow:
    """One way of waiting (`policy`) for steps of one length. Times are measured microseconds; `round_trip` and
    `overhead` have "p50_us", "p90_us", "p99_us" and more, and are empty unless `status` is "measured". `report` has all
    members of `tandem bench-sync --json`."""

    device: str
    policy: str
    work_us: float
    spinners: int
    status: str
    reason: str
    round_trip: dict[str, float]
    overhead: dict[str, float]
    report: dict[str, Any]


@dataclass(frozen=True)
class SyncLab:
    """What waiting costs here: `rows`, warnings about the machine, and the whole report."""

    rows: list[SyncRow]
    warnings: list[str]
    report: dict[str, Any]


def sync_lab(device: Union[str, list[str], None] = None, *, policies: Sequence[str] = (),
             work_seconds: Sequence[float] = (), rounds: int = 0, quick: bool = False) -> SyncLab:
    """Measures what each way of waiting costs on each device, as `tandem bench-sync` does. It takes seconds to minutes.

    device: as for `Model.load()`; none: all of this machine. policies: names of ways; none: all. work_seconds: lengths
    of steps, 0 to 1. rounds: steps of each row; 0: by their length. quick: few rounds."""
    names = device.split(",") if isinstance(device, str) else list(device or [])
    report = json.loads(_tandem.sync_lab(names, list(policies), list(work_seconds), rounds, quick))
    rows = [SyncRow(each["id"], row["policy"], row["work_us"], row["spinners"], row["status"], row["reason"],
                    row.get("round_trip", {}), row.get("overhead", {}), row)
            for each in report["devices"] for row in each["rows"]]
    return SyncLab(rows, report["warnings"], report)


class Trace:
    """What each device did in the passes of a `with model.trace() as trace:` block. Read it behind the block.

    Columns of equal length, one entry a span: `lane` ("opencl:0", "waits of npu:0"), `name`, `kind` ("matmul",
    "attention", "wait", "other") are arrays of str; `begin` and `end` are seconds of the steady clock; `bytes` and
    `flops` are the work; `modelled` says whether the times are a chip's and not measured.
    """

    lane: Any
    name: Any
    kind: Any
    begin: Any
    end: Any
    bytes: Any
    flops: Any
    modelled: Any

    def __init__(self, model: _tandem.Model) -> None:
        self._model, self._json = model, ""

    def __enter__(self) -> "Trace":
        self._model.start_trace()
        return self

    def __exit__(self, *_: object) -> None:
        columns = self._model.stop_trace()
        self._json = columns.pop("json")
        for name in ("lane", "name", "kind"):
            setattr(self, name, np.array(columns[name], dtype=str))
        for name in ("begin", "end", "bytes", "flops"):
            setattr(self, name, np.array(columns[name], dtype=np.float64))
        self.modelled = np.array(columns["modelled"], dtype=bool)

    def save(self, path: str) -> None:
        """Writes trace events, which Perfetto opens."""
        with open(path, "w", encoding="utf-8") as out:
            out.write(self._json)

    def _repr_svg_(self) -> str:
        """A picture for notebooks: a row for each lane, waits pale."""
        lanes = list(dict.fromkeys(self.lane.tolist()))
        first, last = (self.begin.min(), self.end.max()) if len(lanes) else (0.0, 1.0)
        scale = 900 / max(last - first, 1e-9)
        colours = {"matmul": "#3b7", "attention": "#37b", "wait": "#ddd", "other": "#b73"}
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="1060" height="{24 * len(lanes) + 8}" font-size="12">']
        for row, lane in enumerate(lanes):
            parts.append(f'<text x="4" y="{24 * row + 18}" fill="gray">{_escaped(lane)}</text>')
        for lane, kind, name, begin, end in zip(self.lane, self.kind, self.name, self.begin, self.end):
            x, width = 150 + (begin - first) * scale, max((end - begin) * scale, 0.3)
            parts.append(f'<rect x="{x:.2f}" y="{24 * lanes.index(lane) + 5}" width="{width:.2f}" height="16" '
                         f'fill="{colours[str(kind)]}"><title>{_escaped(name)}</title></rect>')
        return "".join(parts) + "</svg>"


def _escaped(text: Any) -> str:
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
