"""What Tandem says about devices, plans and passes."""
from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Iterator, Optional, Sequence, Union

import numpy as np

from . import _tandem
from ._errors import Error, FileError, UsageError, path_bytes


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

    def __init__(self, model: Optional[_tandem.Model]) -> None:
        self._model, self._json = model, ""

    def __getstate__(self) -> dict[str, Any]:
        """A trace that has ended can be pickled and copied. The copy has no model."""
        if not self._json:
            raise UsageError("the trace has not ended", "a copy of it", "Copy it behind the `with` block")
        return {**self.__dict__, "_model": None}

    def __enter__(self) -> "Trace":
        if self._model is None:
            raise UsageError("a copied trace has no model", "Trace", "Begin another one: model.trace()")
        self._model.start_trace()
        return self

    def __exit__(self, kind: Any = None, *_: object) -> None:
        if self._model is None:
            raise UsageError("a copied trace has no model", "Trace", "Begin another one: model.trace()")
        try:
            columns = self._model.stop_trace()
        except Error:
            if kind is None:
                raise
            return  # the block's own exception says more, such as why the model is closed
        self._json = columns.pop("json")
        for name in ("lane", "name", "kind"):
            setattr(self, name, np.array(columns[name], dtype=str))
        for name in ("begin", "end", "bytes", "flops"):
            setattr(self, name, np.array(columns[name], dtype=np.float64))
        self.modelled = np.array(columns["modelled"], dtype=bool)

    def __getattr__(self, name: str) -> Any:
        if name in self.__annotations__:
            raise UsageError("the trace has not ended", f"its column {name!r}", "Read it behind the `with` block")
        raise AttributeError(name)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes trace events, which Perfetto opens; to a path that ends with .svg the picture of a notebook."""
        name = path_bytes(path)
        written = self._repr_svg_() if name.endswith(b".svg") else self._json
        if not written:
            raise UsageError("the trace has not ended", os.fsdecode(name), "Save it behind the `with` block")
        _tandem.write_file(name, written)  # whole or not at all, as the program writes

    def _repr_svg_(self) -> str:
        """A picture for notebooks: a row for each lane, below it a scale in milliseconds, and what the colours mean."""
        lanes = list(dict.fromkeys(self.lane.tolist()))
        first, last = (self.begin.min(), self.end.max()) if lanes else (0.0, 0.0)
        scale = _WIDTH / max(last - first, 1e-9)
        bottom = 24 * len(lanes) + 8
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 10}" height="{bottom + 44}" '
                 'font-size="12" font-family="sans-serif">']
        for row, lane in enumerate(lanes):
            parts.append(f'<text x="4" y="{24 * row + 18}" fill="gray">{_escaped(lane)}</text>')
            here = self.lane == lane
            for x, width, kind, name in _visible((self.begin[here] - first) * scale, (self.end[here] - first) * scale,
                                                 self.kind[here], self.name[here]):
                parts.append(f'<rect x="{_LEFT + x:.2f}" y="{24 * row + 5}" width="{width:.2f}" height="16" '
                             f'fill="{_COLOURS[kind]}"><title>{_escaped(name)}</title></rect>')
        for tick in range(5):
            x, milliseconds = _LEFT + _WIDTH * tick / 4, 1e3 * (last - first) * tick / 4
            parts.append(f'<text x="{x:.0f}" y="{bottom + 14}" fill="gray" text-anchor="{"end" if tick == 4 else "middle"}">'
                         f'{milliseconds:.3g} ms</text>')
        for place, (kind, colour) in enumerate(_COLOURS.items()):
            x = _LEFT + 100 * place
            parts.append(f'<rect x="{x}" y="{bottom + 24}" width="12" height="12" fill="{colour}"/>'
                         f'<text x="{x + 18}" y="{bottom + 34}" fill="gray">{kind}</text>')
        return "".join(parts) + "</svg>"


_LEFT, _WIDTH = 150, 900  # pixels
_COLOURS = {"matmul": "#3b7", "attention": "#37b", "wait": "#bbb", "other": "#b73"}


def _visible(begins: Any, ends: Any, kinds: Any, names: Any) -> Iterator[tuple[float, float, str, str]]:
    """The spans of a lane as (x, width, kind, name). Of those within half a pixel the longest is shown, so a trace of
    any length makes a picture of bounded size."""
    longest: dict[int, int] = {}
    for i, begin in enumerate(begins):
        place = int(2 * begin)
        if place not in longest or ends[i] - begin > ends[longest[place]] - begins[longest[place]]:
            longest[place] = i
    for i in longest.values():
        yield float(begins[i]), max(float(ends[i] - begins[i]), 0.3), str(kinds[i]), str(names[i])


def _escaped(text: Any) -> str:
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
