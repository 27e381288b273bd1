"""Reads a GoogleTest program's output about its tests while it runs them."""

import re
import time
from dataclasses import dataclass

BEGINS = re.compile(r"\[ RUN      \] (\S+)\r?$")
ENDS = re.compile(r"\[(       OK |  FAILED  |  SKIPPED )\] ([^\s,]+)")
STATES = {"       OK ": "passed", "  FAILED  ": "failed", "  SKIPPED ": "skipped"}
MOST_LETTERS = 1 << 20  # the kept part of a test's output


@dataclass
class Result:
    test: object
    state: str  # passed, failed, skipped
    seconds: float
    output: str
    why: str = ""  # the reason of a failure that the program itself did not report


class Said:
    """Assigns the lines of one program to its tests."""

    def __init__(self, tests):
        self.waiting = {test.inside: test for test in tests}  # in their order
        self.running, self.results, self.any_failed = None, [], False
        self.start_over()

    def start_over(self):
        self.begun, self.lines, self.letters = time.monotonic(), [], 0

    def line(self, line):
        begins, ends = BEGINS.search(line), ENDS.search(line)
        if begins and not self.running and begins[1] in self.waiting:
            self.start_over()
            self.running = self.waiting.pop(begins[1])
        if self.letters < MOST_LETTERS:
            self.lines.append(line)
            self.letters += len(line)
        if ends and self.running and ends[2] == self.running.inside:
            self.finish(STATES[ends[1]])

    def finish(self, state, why=""):
        self.results.append(Result(self.running, state, time.monotonic() - self.begun, "\n".join(self.lines), why))
        self.running, self.any_failed = None, self.any_failed or state == "failed"
        self.start_over()

    def take(self):
        """The results since the last call."""
        results, self.results = self.results, []
        return results

    @property
    def patience(self):
        """The time limit of the running test in seconds. Between two tests it is that of the next one."""
        current = self.running or next(iter(self.waiting.values()), None)
        return current.seconds if current else 600

    @property
    def hangs(self):
        return time.monotonic() - self.begun > self.patience


def judged_alone(test, output, status, why, seconds):
    """The result of a process that ran one test, or another command. `why`: the reason if it did not end by itself."""
    said = {STATES[each[1]] for each in ENDS.finditer(output) if each[2] == test.inside}
    if not why and status != 0:
        why = "" if "failed" in said else how_it_ended(status)
    elif not why and test.inside and not said:
        why = "no test of this name ran"
    for pattern in test.fails_at:
        if not why and re.search(pattern, output):
            why = f"the output matches '{pattern}'"
    state = "failed" if why or status != 0 or "failed" in said else "skipped" if "skipped" in said else "passed"
    return Result(test, state, seconds, output[:MOST_LETTERS], why)


def how_it_ended(status):
    """Describes a status of the module subprocess."""
    return f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
