"""What a run found: rows, facts and steps. They are written after every step, so that a run that is cut off leaves them."""

import json
import os
from dataclasses import asdict, dataclass, field

SCHEMA = 1


@dataclass
class Row:
    """One figure, or why there is none."""

    section: str  # correct, first text, speed, waiting
    who: str  # the program and its devices
    what: str
    value: object  # a number with `unit`, or words
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
        """card.json and card.md, each whole or as it was before. table: makes the text out of as_dict()."""
        known = self.as_dict()
        for name, text in (("card.json", json.dumps(known, indent=1) + "\n"), ("card.md", table(known))):
            path = os.path.join(self.folder, name)
            with open(path + ".part", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(path + ".part", path)
