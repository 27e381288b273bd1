"""A mutation: a patch with one mistake that a tired engineer could make, and the tests that must notice it.

The file is a unified diff below a header with two kinds of lines:

    Mistake: one sentence, which says what is wrong afterwards.
    Killed by: PROGRAM GTEST_FILTER

A filter has names with `*`, separated by `:`. If a name stays green, the mutation has survived. A name with `*` needs
one failed test. A header may have several lines `Killed by`. It should name the cheapest test that notices the mistake.
"""

import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path


class MutationError(Exception):
    """The mutation could not be judged: it is neither killed nor survived."""


@dataclass(frozen=True)
class Mutation:
    name: str  # the file's name without .patch
    path: Path
    mistake: str
    killers: tuple  # (program, pattern) of each killing test
    files: tuple  # the files that the patch changes

    @property
    def programs(self):
        return tuple(dict.fromkeys(program for program, _ in self.killers))

    def patterns_of(self, program):
        return [pattern for each, pattern in self.killers if each == program]


def read_mutation(path):
    header, _, diff = path.read_text().partition("\n--- ")
    mistakes, killers = [], []
    for line in header.splitlines():
        key, _, value = (part.strip() for part in line.partition(":"))
        if key == "Mistake":
            mistakes.append(value)
        elif key == "Killed by":
            program, _, names = value.partition(" ")
            killers += [(program, name.strip()) for name in names.split(":") if name.strip()]
        elif line.strip() and not line.startswith("diff "):
            raise MutationError(f"{path.name}: a header has lines 'Mistake: ...' and 'Killed by: ...', not '{line}'")
    if len(mistakes) != 1 or not mistakes[0].endswith("."):
        raise MutationError(f"{path.name}: the header needs one line 'Mistake: ...' with a sentence that ends in a full stop")
    if not killers:
        raise MutationError(f"{path.name}: the header needs a line 'Killed by: PROGRAM TEST'")
    files = tuple(re.findall(r"^\+\+\+ b/(\S+)", diff, re.MULTILINE))
    if not files:
        raise MutationError(f"{path.name}: there is no patch below the header (lines '--- a/FILE', '+++ b/FILE')")
    return Mutation(path.stem, path, mistakes[0], tuple(killers), files)


def read_all(folder):
    return [read_mutation(path) for path in sorted(Path(folder).glob("*.patch"))]


def matching(names, pattern):
    """The full names of tests that match. `?` and `*` work as in a GoogleTest filter, and brackets mean themselves."""
    return [name for name in names if fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))]


def table(mutations):
    """The text of docs/mutations.md. A house test compares it with the page."""
    lines = ["# Mutations", "", "The mistakes that the tests must notice. `./dev mutate --table` writes this page; `docs/testing.md` says what it is for.",
             "", "| mutation | the mistake | in | killed by |", "| --- | --- | --- | --- |"]
    for mutation in mutations:
        files = ", ".join(f"`{file}`" for file in mutation.files)
        tests = ", ".join(f"`{pattern}`" for _, pattern in mutation.killers)
        lines.append(f"| {mutation.name} | {mutation.mistake.replace('|', chr(92) + '|')} | {files} | {tests} |")
    return "\n".join(lines) + "\n"
