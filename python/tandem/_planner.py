"""Planners: functions that say which device runs each operator of a pass."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Union

from ._errors import UsageError

Place = Union[str, Dict[str, float]]


@dataclass(frozen=True)
class Operator:
    """An operator of a pass. `rows` is the number of rows of a matmul's result that may be divided, 0 for others.
    `seconds` predicts its time on each device while the others work too; infinity: the device does not run it."""

    name: str
    kind: str
    tokens: int
    rows: int
    seconds: dict[str, float]


@dataclass(frozen=True)
class Work:
    """What a planner places: operators in the order of the computation. `cutters` are the devices that may share the
    rows of a matmul, `sync_seconds` is the cost of one wait between two devices."""

    devices: list[str]
    cutters: list[str]
    operators: list[Operator]
    sync_seconds: float


Planner = Callable[[Work], List[Place]]


def _shares(place: Any, devices: list[str], operator: str) -> list[float]:
    given = {place: 1.0} if isinstance(place, str) else place
    if not isinstance(given, dict):
        raise UsageError("this is no place", f"{operator}: {place!r:.80}", "Give a device, or shares by device")
    unknown = [each for each in given if each not in devices]
    if unknown:
        raise UsageError("the planner names an unknown device", f"{operator}: {unknown[0]!r:.80}",
                         "Use one of " + ", ".join(devices))
    return [float(given.get(each, 0.0)) for each in devices]


def placed_by(planner: Planner) -> Callable[[Any, float, Any], list[list[float]]]:
    """The function that the library calls: it wants a share for each device."""

    def place(devices: Any, sync_seconds: float, items: Any) -> list[list[float]]:
        names = [name for name, _ in devices]
        operators = [Operator(name, kind, tokens, rows, dict(zip(names, seconds)))
                     for name, kind, tokens, rows, seconds in items]
        places: Any = planner(Work(names, [name for name, cuts in devices if cuts], operators, sync_seconds))
        if isinstance(places, str) or not hasattr(places, "__iter__"):
            raise UsageError("the planner gave no list of places", f"{places!r:.80}", "Return a place for each operator")
        places = list(places)
        known = [each.name for each in operators] + ["a place without an operator"] * len(places)
        return [_shares(each, names, operator) for each, operator in zip(places, known)]

    return place
