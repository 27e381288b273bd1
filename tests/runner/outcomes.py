"""The result of each test of a batch. A later result of a test replaces an earlier one.

If a program dies or hangs, the running test has failed, and another process runs the remaining tests. If a program ends
badly although none of its tests failed, each of them runs alone, so that the report names the guilty one. A program
that takes too much memory is ended between two tests, and another process runs the remaining ones.
"""

import time

from process import Process
from said import Result, Said, how_it_ended, judged_alone


def run(batch, stop, most_bytes=None):
    """Yields results as they arrive. Raises Ended when `stop` is set. `most_bytes`: of a program's memory between two tests."""
    if len(batch.tests) > 1:
        yield from joined(list(batch.tests), stop, most_bytes)
    else:
        yield alone(batch.tests[0], stop)


def alone(test, stop):
    """Runs a test, or a command that is no GoogleTest program, in a process of its own."""
    if test.disabled:
        return Result(test, "skipped", 0.0, "disabled")
    if not test.command:
        return Result(test, "failed", 0.0, "", "its program was not built")
    begun, lines, why = time.monotonic(), [], ""
    try:
        with Process([test]) as process:
            try:
                lines += process.lines(stop, lambda: time.monotonic() - begun > test.seconds)
            except TimeoutError:
                why = f"no end within {test.seconds:.0f} s"
    except OSError as error:
        return Result(test, "failed", 0.0, "", f"could not be started: {error}")
    return judged_alone(test, "\n".join(lines), process.child.returncode, why, time.monotonic() - begun)


def joined(tests, stop, most_bytes):
    """Runs tests of one GoogleTest program in one process, or in several if it takes much memory."""
    while len(tests) > 1:
        said, why, is_full = Said(tests), "", False
        try:
            with Process(tests) as process:
                try:
                    for line in process.lines(stop, lambda: said.hangs):
                        said.line(line)
                        results = said.take()
                        yield from results
                        is_full = bool(results and said.waiting) and process.takes_more_than(most_bytes)
                        if is_full:
                            break
                except TimeoutError:
                    why = f"no end within {said.patience:.0f} s"
        except OSError:
            yield from each_alone(tests, stop)
            return
        status, left = process.child.returncode, list(said.waiting.values())
        if is_full:
            tests = left
            continue
        if said.running:
            said.finish("failed", why or how_it_ended(status))
            yield from said.take()
        elif left or (status != 0 and not said.any_failed):
            yield from each_alone(tests, stop, why or how_it_ended(status))
            return
        tests = left
    yield from each_alone(tests, stop)


def each_alone(tests, stop, how_they_ended=""):
    """`how_they_ended`: the bad end of a process in which no test failed. Then one of the tests must fail here."""
    failed = False
    for test in tests:
        result = alone(test, stop)
        failed = failed or result.state == "failed"
        if how_they_ended and test is tests[-1] and not failed:
            result.state, result.why = "failed", f"the process of {len(tests)} tests {how_they_ended}; alone, each of them passes"
        yield result
