"""The results of a run: rows, facts and steps. Every step writes them, so an interrupted run leaves them."""

import json
import os
from dataclasses import asdict, dataclass, field

SCHEMA = 1


@dataclass
class Row:
    """One figure, or the reason why there is none."""

    section: str  # correct, first text, speed, waiting
    who: str  # the program and its devices
    what: str
    value: object  # a number with `unit`, or a text
    status: str = "ok"  # ok, failed, left out
    reason: str = ""
    unit: str = ""
    detail: dict = field(default_factory=dict)


@dataclass
class StepRecord:
    name: str
    status: str
    seconds: float
    began: float  # seconds after the start of the run
    reason: str = ""


class Records:
    def __init__(self, folder, facts):
        self.folder = folder
        self.facts = dict(facts)
        self.rows = []
        self.steps = []

    def as_dict(self):
        return {"schema": SCHEMA, "clock": "measured", "facts": self.facts, "rows": [asdict(row) for row in self.rows],
                "steps": [asdict(step) for step in self.steps]}

    def write(self, table):
        """Writes card.json and card.md; each is whole, or as it was before. table: makes the text from as_dict()."""
        known = self.as_dict()
        for name, text in (("card.json", json.dumps(known, indent=1) + "\n"), ("card.md", table(known))):
            path = os.path.join(self.folder, name)
            with open(path + ".part", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".part", path)
