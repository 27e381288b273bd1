"""The runner's output, and the JUnit file in ctest's form, which ./dev and tests/drivers/judge.py read."""

import re
from xml.sax.saxutils import escape

MOST_LETTERS = {"passed": 1 << 16, "skipped": 1 << 16, "failed": 300_000}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def quoted(text):
    """The text in double quotes, as ctest writes it and ./dev reads it."""
    return '"' + escape(NOT_XML.sub("?", text), {'"': "&quot;", "\n": "&#10;"}) + '"'


class Report:
    def __init__(self, count, say):
        self.count, self.say, self.results = count, say, {}

    def add(self, result):
        known = result.test.name in self.results
        self.results[result.test.name] = result
        self.say(f"{len(self.results):>5}/{self.count} {result.state:<7} {result.seconds:7.2f} s  {result.test.name}" + " (again, alone)" * known)
        if result.state == "failed":
            self.say(result.output + (f"\n{result.test.name}: {result.why}" if result.why else ""))

    def failed(self):
        return [result for result in self.results.values() if result.state == "failed"]

    def write(self, path):
        states = {"passed": "run", "failed": "fail", "skipped": "notrun"}
        with open(path, "w", encoding="utf-8") as out:
            out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="tandem" tests="{len(self.results)}">\n')
            for name, result in sorted(self.results.items()):
                out.write(f'\t<testcase name={quoted(name)} classname={quoted(name)} time="{result.seconds:.3f}" '
                          f'status="{states[result.state]}">\n{self.inside(result)}\t</testcase>\n')
            out.write("</testsuite>\n")

    @staticmethod
    def inside(result):
        text = escape(NOT_XML.sub("?", result.output[:MOST_LETTERS[result.state]]))
        marks = {"skipped": '\t\t<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>\n',
                 "failed": f"\t\t<failure message={quoted(result.why)}/>\n"}
        return marks.get(result.state, "") + f"\t\t<system-out>{text}\n</system-out>\n"
