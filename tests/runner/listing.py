"""The tests of ctest with their commands and properties, read from `ctest --show-only=json-v1`."""

import json
import subprocess
from dataclasses import dataclass

FILTER = "--gtest_filter="
# These properties change how a test runs or is judged, and this runner does not support them. Others only describe.
NOT_DONE = {"DEPENDS", "FIXTURES_CLEANUP", "FIXTURES_REQUIRED", "FIXTURES_SETUP", "PASS_REGULAR_EXPRESSION", "PROCESSORS", "REQUIRED_FILES",
            "RESOURCE_GROUPS", "RUN_SERIAL", "SKIP_RETURN_CODE", "TIMEOUT_AFTER_MATCH", "WILL_FAIL"}


class ListingError(Exception):
    """The tests cannot be listed, or one has a property that this runner does not support."""


@dataclass(frozen=True)
class Test:
    name: str  # as in ctest: engine/model/Gguf.reads_what_was_written
    command: tuple  # runs the test alone; empty: its program was not built
    inside: str  # its name within a GoogleTest program; empty for other commands
    folder: str
    seconds: float  # the time limit after which it counts as hanging
    locks: frozenset  # tests of one lock run one at a time
    environment: tuple  # (name, value) of variables to set
    appended: tuple  # (name, value) to append to a variable behind a colon
    fails_at: tuple  # regular expressions that the output must not match
    begun_first: bool
    disabled: bool

    @property
    def program(self):
        return self.command[0] if self.command else ""

    @property
    def suite(self):
        """The suite: GoldenModels for engine/run/Plans/GoldenModels.have_golden_text/host."""
        return self.name.partition(".")[0].rpartition("/")[2]


def pairs(words):
    return tuple(tuple(word.split("=", 1)) for word in words)


def appended(words):
    result = []
    for name, change in pairs(words):
        operation, _, value = change.partition(":")
        if operation != "path_list_append":
            raise ListingError(f"ENVIRONMENT_MODIFICATION {operation} is unknown to tests/runner")
        result.append((name, value))
    return tuple(result)


def as_list(value):
    return [value] if isinstance(value, str) else value


def read_test(entry, most_seconds):
    properties = {item["name"]: item["value"] for item in entry.get("properties", [])}
    for name in sorted(NOT_DONE & set(properties)):
        raise ListingError(f"{entry['name']}: tests/runner does nothing about the property {name}")
    command = tuple(entry.get("command", ()))
    names = [word[len(FILTER):] for word in command if word.startswith(FILTER)]
    return Test(name=entry["name"], command=command, inside=names[0] if names else "",
                folder=properties.get("WORKING_DIRECTORY", "."),
                seconds=most_seconds or properties.get("TIMEOUT", 1500),
                locks=frozenset(as_list(properties.get("RESOURCE_LOCK", []))),
                environment=pairs(as_list(properties.get("ENVIRONMENT", []))),
                appended=appended(as_list(properties.get("ENVIRONMENT_MODIFICATION", []))),
                fails_at=tuple(as_list(properties.get("FAIL_REGULAR_EXPRESSION", []))),
                begun_first=properties.get("COST", 0) > 0, disabled=bool(properties.get("DISABLED", False)))


def read_tests(build_folder, only="", without="", most_seconds=0):
    """The tests whose name matches `only` and not `without`. `most_seconds` replaces every time limit."""
    command = ["ctest", "--test-dir", str(build_folder), "--show-only=json-v1"]
    command += ["-R", only] * bool(only) + ["-E", without] * bool(without)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise ListingError("ctest could not list the tests:\n" + done.stdout + done.stderr)
    return [read_test(entry, most_seconds) for entry in json.loads(done.stdout)["tests"]]
