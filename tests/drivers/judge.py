"""The results of the tests on a driver: passed, failed, and refused with the reason (docs/drivers.md).

    judge.py DRIVER FOLDER [--row]

FOLDER has the driver's version. It also has junit.xml with the results of ctest, device_refusal with the reason why
Tandem does not open the device, or both. A skipped test counts as refused, with its reason. So does a test that fails
for a reason in refusals.json, and a device that is not opened for such a reason. All other failures count as failures.
An entry of refusals.json that no longer fails is also a failure, and must be removed from the list.

Prints the reasons and a line of counts, or with --row the driver's row of the table. Status: 0 if nothing failed and
there was a result.
"""

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

LIST = Path(__file__).with_name("refusals.json")


@dataclass
class Verdict:
    passed: int = 0
    failed: list = field(default_factory=list)  # (test, message)
    refused: dict = field(default_factory=dict)  # the tests by reason
    device: str = ""  # the reason why no test of the device could run

    def refuse(self, reason, test):
        self.refused.setdefault(reason, []).append(test)

    @property
    def refused_tests(self):
        return sum(len(tests) for tests in self.refused.values())

    @property
    def good(self):
        return not self.failed and (self.passed > 0 or bool(self.device))


def skip_reason(case):
    lines = ("".join(case.itertext())).splitlines()
    for line, following in zip(lines, lines[1:]):
        if line.rstrip().endswith(": Skipped"):
            return following.strip().removeprefix("skipped: ")
    return "no reason given"


def outcome(case):
    """"passed", "skipped" or "failed"."""
    if case.get("status") == "run":
        return "passed"
    skipped = case.find("skipped")
    if case.get("status") == "disabled" or (skipped is not None and skipped.get("message", "").startswith("SKIP_")):
        return "skipped"
    return "failed"


def judge_tests(junit, known, verdict):
    met = set()
    for case in ElementTree.fromstring(junit).iter("testcase"):
        name = case.get("name")
        matching = [pattern for pattern in known if re.search(pattern, name)]
        met.update(matching)
        result = outcome(case)
        if result == "skipped":
            verdict.refuse(skip_reason(case), name)
        elif result == "passed" and matching:
            verdict.failed.append((name, "passes, though refusals.json says that it cannot"))
        elif result == "passed":
            verdict.passed += 1
        elif matching:
            verdict.refuse(known[matching[0]], name)
        else:
            verdict.failed.append((name, ""))
    return met


def judge_device(why, expected, verdict):
    if why and expected and expected in why:
        verdict.device = why
    elif why:
        verdict.failed.append(("the device", why))
    elif expected:
        verdict.failed.append(("the device", f"is opened, though refusals.json says that it is refused: {expected}"))


def judge(known, junit=None, device_refusal="", whole=False):
    """whole: all tests ran, so every test that refusals.json names must be among them."""
    verdict = Verdict()
    tests = known.get("tests", {})
    judge_device(device_refusal, known.get("device", ""), verdict)
    met = judge_tests(junit, tests, verdict) if junit else set()
    if whole and not device_refusal:
        for pattern in tests:
            if pattern not in met:
                verdict.failed.append((pattern, "is in refusals.json, and no test has that name"))
    return verdict


def text(verdict):
    lines = []
    if verdict.device:
        lines.append(f"refused: {verdict.device}")
    if verdict.refused:
        lines.append("refused:")
        lines += [f"  {len(tests)}: {reason}" for reason, tests in verdict.refused.items()]
    if verdict.failed:
        lines.append("failed:")
        lines += [f"  {test}" + (f": {why}" if why else "") for test, why in verdict.failed]
    lines.append(f"{verdict.passed} passed, {len(verdict.failed)} failed, {verdict.refused_tests} refused")
    return "\n".join(lines)


def cell(reason):
    return " ".join(reason.split()).replace("|", "\\|")


def row(driver, version, verdict):
    reasons = [f"{len(tests)}: {cell(reason)}" for reason, tests in verdict.refused.items()]
    if verdict.device:
        reasons.insert(0, f"the device: {cell(verdict.device)}")
    versions = ", ".join(version.split("\n"))
    return f"| {driver} | {versions} | {verdict.passed} | {len(verdict.failed)} | {'; '.join(reasons) or '0'} |"


def content(path):
    return path.read_text().strip() if path.exists() else ""


def main(arguments):
    flags = [word for word in arguments if word.startswith("--")]
    driver, folder = [word for word in arguments if not word.startswith("--")]
    folder = Path(folder)
    known = json.loads(LIST.read_text()).get(driver, {})
    verdict = judge(known, content(folder / "junit.xml"), content(folder / "device_refusal"), "--whole" in flags)
    print(row(driver, content(folder / "version"), verdict) if "--row" in flags else text(verdict))
    return 0 if verdict.good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
