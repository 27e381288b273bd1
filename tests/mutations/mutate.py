"""Makes mistakes in a copy of the tree, one at a time, and checks that the tests notice: `./dev mutate [NAME...]`.

A mutation is killed if every test that its header names turns red. It has survived if one of them stays green. A
mutation that cannot be judged is an error: its patch does not apply, the tree does not build, or a test is missing,
skipped, or red without the mutation. Status: 0 all killed, 1 one survived, 2 an error, 130 interrupted.
"""

import argparse
import shlex
import sys
import time
from pathlib import Path

from mutation import MutationError, matching, read_all, table
from programs import Programs
from scratch import Scratch, apply

HERE = Path(__file__).resolve().parent


def say(text):
    print(text, flush=True)


def require_green(programs, mutations):
    """Builds every program once without a mutation, and runs the named tests. Returns the errors, by mutation."""
    wanted, errors = {}, {}
    for mutation in mutations:
        for program, pattern in mutation.killers:
            wanted.setdefault(program, set()).add(pattern)
    say(f"building {', '.join(sorted(wanted))} and running their tests as the tree is")
    programs.build(sorted(wanted))
    for program, patterns in wanted.items():
        states, output = programs.run(program, sorted(patterns))
        for mutation in mutations:
            for pattern in mutation.patterns_of(program):
                why = why_not_green(states, pattern)
                if why:
                    errors[mutation.name] = f"{program} {pattern}: {why}"
                    if "red" in why:
                        say(output)
    return errors


def why_not_green(states, pattern):
    found = {name: states[name] for name in matching(states, pattern)}
    if not found:
        return "there is no such test"
    if "failed" in found.values():
        return "it is red without the mutation"
    if "passed" not in found.values():
        return "it is skipped here"
    return ""


def try_mutation(mutation, scratch, programs):
    """The names of the tests that stayed green. If there are none, the mutation is killed."""
    try:
        apply(mutation, scratch.folder)
        programs.build(mutation.programs)
        green = []
        for program in mutation.programs:
            patterns = mutation.patterns_of(program)
            states, _ = programs.run(program, patterns)
            green += [p for p in patterns if "failed" not in (states[name] for name in matching(states, p))]
        return green
    finally:
        scratch.undo(mutation)


def judge(mutations, scratch, programs):
    """Returns the numbers of mutations that were killed, survived and were not judged."""
    errors = require_green(programs, mutations)
    counts = {"killed": 0, "survived": 0, "error": 0}
    # Mutations of one program follow each other, because the build for the next one is then almost complete.
    for mutation in sorted(mutations, key=lambda m: (m.programs, m.files)):
        begin, verdict, why = time.monotonic(), "killed", ""
        try:
            if mutation.name in errors:
                raise MutationError(errors[mutation.name])
            green = try_mutation(mutation, scratch, programs)
            if green:
                verdict, why = "survived", "green: " + ", ".join(green)
        except MutationError as error:
            verdict, why = "error", str(error)
        counts[verdict] += 1
        say(f"{verdict:<9} {time.monotonic() - begin:6.1f} s  {mutation.name}" + (f"\n    {why}" if why else ""))
    return counts


def check(mutations, tree):
    """Checks that every patch still applies to the tree, without building anything."""
    broken = 0
    for mutation in mutations:
        try:
            apply(mutation, tree, only_check=True)
        except MutationError as error:
            broken += 1
            say(f"{mutation.name}: {error}")
    say(f"{len(mutations) - broken} of {len(mutations)} patches apply")
    return 2 if broken or not mutations else 0


def arguments(words):
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which mutations; none: all")
    parser.add_argument("--list", action="store_true", help="their names and what mistake each makes")
    parser.add_argument("--table", action="store_true", help="the page docs/mutations.md")
    parser.add_argument("--check", action="store_true", help="only whether the patches still apply")
    parser.add_argument("--wrapper", default="", help="a command that test programs are run under, such as 'nice'")
    parser.add_argument("--tree", type=Path, default=HERE.parent.parent, help=argparse.SUPPRESS)
    return parser.parse_args(words)


def chosen(options):
    mutations = read_all(options.tree / "tests" / "mutations")
    unknown = set(options.names) - {mutation.name for mutation in mutations}
    if unknown:
        raise MutationError(f"there is no mutation {', '.join(sorted(unknown))}; ./dev mutate --list names them")
    return [mutation for mutation in mutations if not options.names or mutation.name in options.names]


def main(words):
    options = arguments(words)
    try:
        mutations = chosen(options)
        if options.table:
            sys.stdout.write(table(mutations))
            return 0
        if options.list:
            for mutation in mutations:
                say(f"{mutation.name}: {mutation.mistake}")
            return 0
        if options.check:
            return check(mutations, options.tree)
        with Scratch(options.tree, options.tree / "build" / "mutate") as scratch:
            programs = Programs(scratch.folder, options.tree.parent / "shared" / "data", shlex.split(options.wrapper))
            programs.configure()
            counts = judge(mutations, scratch, programs)
    except MutationError as error:
        say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        say("interrupted; the working tree was not touched, and the copy is put right the next time")
        return 130
    say(f"{counts['killed']} of {len(mutations)} killed, {counts['survived']} survived, {counts['error']} not judged")
    return 2 if counts["error"] else 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
