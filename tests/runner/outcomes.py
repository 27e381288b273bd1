"""What became of each test of a batch. A later result of a test replaces an earlier one.

The test that is running when its program dies or hangs has failed, and another process runs those behind it. A program that ends badly
although none of its tests failed runs each of them alone, so that the one that does it is named.
"""

import time

from process import Process
from said import Result, Said, how_it_ended, judged_alone


def run(batch, stop):
    """Results as they come. Raises Ended when `stop` is set."""
    if len(batch.tests) > 1:
        yield from joined(list(batch.tests), stop)
    else:
        yield alone(batch.tests[0], stop)


def alone(test, stop):
    """A test, or a command that is no GoogleTest program, in a process of its own."""
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


def joined(tests, stop):
    """Tests of one GoogleTest program."""
    while len(tests) > 1:
        said, why = Said(tests), ""
        try:
            with Process(tests) as process:
                try:
                    for line in process.lines(stop, lambda: said.hangs):
                        said.line(line)
                        yield from said.take()
                except TimeoutError:
                    why = f"no end within {said.patience:.0f} s"
        except OSError:
            yield from each_alone(tests, stop)
            return
        status, left = process.child.returncode, list(said.waiting.values())
        if said.running:
            said.finish("failed", why or how_it_ended(status))
            yield from said.take()
        elif left or (status != 0 and not said.any_failed):
            yield from each_alone(tests, stop, why or how_it_ended(status))
            return
        tests = left
    yield from each_alone(tests, stop)


def each_alone(tests, stop, how_they_ended=""):
    """`how_they_ended`: of the process that ran all of them, where none was at fault; one must be, then."""
    failed = False
    for test in tests:
        result = alone(test, stop)
        failed = failed or result.state == "failed"
        if how_they_ended and test is tests[-1] and not failed:
            result.state, result.why = "failed", f"the process of {len(tests)} tests {how_they_ended}; alone, each of them passes"
        yield result
