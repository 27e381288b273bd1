"""Builds the scratch copy's test programs and runs chosen tests of them."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from mutation import MutationError

MOST_SECONDS = 1800  # for all tests that the mutations name in one program
UNSET = ["TANDEM_MODEL", "TANDEM_DEVICE", "TANDEM_LOG", "GTEST_FILTER"]  # a user's choices must not change the tests


def last_lines(text, count=25):
    return "\n".join(text.strip().splitlines()[-count:])


class Programs:
    def __init__(self, folder, data=None, wrapper=()):
        self.folder, self.build_folder, self.wrapper = Path(folder), Path(folder) / "build" / "release", list(wrapper)
        self.places, self.seconds = {}, {}  # by program; seconds: its longest run so far
        self.environment = {key: value for key, value in os.environ.items() if key not in UNSET}
        if data and Path(data).is_dir():
            self.environment.setdefault("TANDEM_TEST_DATA", str(data))

    def configure(self):
        if (self.build_folder / "build.ninja").exists():
            return
        # Programs list their tests only when ctest runs, and not after every link.
        command = ["cmake", "--preset", "release", "-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST"]
        if shutil.which("ccache"):
            command.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(self.build_folder, ignore_errors=True)
            raise MutationError("configuring failed:\n" + last_lines(done.stdout + done.stderr))

    def build(self, names):
        command = ["cmake", "--build", str(self.build_folder), "--parallel", str(os.cpu_count()), "--target", *names]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise MutationError("the build failed:\n" + last_lines(done.stdout + done.stderr))

    def path(self, name):
        if name not in self.places:
            found = [path for path in self.build_folder.rglob(name) if path.is_file() and os.access(path, os.X_OK)]
            if len(found) != 1:
                raise MutationError(f"there is no test program '{name}'")
            self.places[name] = found[0]
        return self.places[name]

    def tests(self, name):
        """The full names of all tests of a program."""
        done = subprocess.run([str(self.path(name)), "--gtest_list_tests"], capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            raise MutationError(f"{name} cannot list its tests:\n" + last_lines(done.stdout + done.stderr))
        names, suite = [], ""
        for line in done.stdout.splitlines():
            text = line.split("#")[0].rstrip()
            if text.startswith("  "):
                names.append(suite + text.strip())
            elif text.endswith("."):
                suite = text
        return names

    def patience(self, name):
        """The limit for tests that a mistake may hang: a minute, and ten times the time without the mistake."""
        return 60 + 10 * self.seconds[name] if name in self.seconds else MOST_SECONDS

    def run(self, name, patterns):
        """Returns each test's result by name: "passed", "failed" or "skipped". After a crash or a hang all failed."""
        limit, begin = self.patience(name), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            command = [*self.wrapper, str(self.path(name)), f"--gtest_filter={':'.join(patterns)}", f"--gtest_output=json:{report}"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=self.environment,
                                      cwd=self.path(name).parent, timeout=limit)
            except subprocess.TimeoutExpired:
                return {pattern: "failed" for pattern in patterns}, f"no end within {limit:.0f} s"
            self.seconds[name] = max(self.seconds.get(name, 0), time.monotonic() - begin)
            if done.returncode not in (0, 1) or not report.exists():
                return {pattern: "failed" for pattern in patterns}, f"ended with status {done.returncode}"
            return outcomes(json.loads(report.read_text())), last_lines(done.stdout, 60)


def outcomes(report):
    results = {}
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            state = "failed" if test.get("failures") else {"COMPLETED": "passed"}.get(test["result"], "skipped")
            results[f"{suite['name']}.{test['name']}"] = state
    return results
