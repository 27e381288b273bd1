"""Runs the tests that ctest lists, many tests of a program in one process: `./dev test`.

Starting a test program, loading its drivers and opening devices takes longer than most tests, so tests share processes.
Each test is still counted, timed, limited and named separately (outcomes.py). Status: 0 all passed, 1 one failed,
2 an error, 130 interrupted.
"""

import argparse
import os
import signal
import sys
import threading
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

from batches import batches
from listing import ListingError, read_tests
from outcomes import run
from process import Ended
from report import Report


def say(text):
    print(text, flush=True)


def say_left_out(tests, all_tests):
    """Prints the tests that did not run, by suite, for a user who asked for fewer tests."""
    run = {test.name for test in tests}
    suites = Counter(test.suite for test in all_tests if test.name not in run)
    if suites:
        say(f"left out: {suites.total()} of {len(all_tests)} tests: " + ", ".join(f"{suite} ({count})" for suite, count in suites.most_common()))


def begin_possible(waiting, held, room):
    """Takes up to `room` batches from `waiting` that need no lock of `held`, and adds their locks to `held`."""
    begun = []
    for batch in list(waiting):
        if len(begun) < room and not batch.locks & held:
            waiting.remove(batch)
            held |= batch.locks
            begun.append(batch)
    return begun


def most_bytes_of(build, jobs):
    """The memory that a program may keep from test to test: PoCL's compiler keeps some of each kernel. Sanitizers look for
    leaks at a program's own end, so it has no bound there."""
    try:
        cache = Path(build, "CMakeCache.txt").read_text()
    except OSError:
        cache = ""
    if any(line.startswith("TANDEM_SANITIZE:") and not line.endswith("=") for line in cache.splitlines()):
        return None
    return min(2 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (4 * jobs))


def run_all(waiting, jobs, report, stop, most_bytes=None):
    held, at_work, lock = set(), {}, threading.Lock()

    def work(batch):
        for result in run(batch, stop, most_bytes):
            with lock:
                report.add(result)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            while waiting or at_work:
                for batch in begin_possible(waiting, held, jobs - len(at_work)):
                    at_work[pool.submit(work, batch)] = batch
                done, _ = wait(at_work, timeout=1, return_when=FIRST_COMPLETED)
                for future in done:
                    held -= at_work.pop(future).locks
                    future.result()
        except BaseException:
            stop.set()
            raise


def arguments(words):
    parser = argparse.ArgumentParser(prog="tests/runner/run.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", metavar="BUILD", help="the build folder whose tests ctest lists")
    parser.add_argument("--junit", required=True, metavar="FILE", help="the results are written there")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many processes run beside each other")
    parser.add_argument("-R", dest="only", default="", metavar="REGEX", help="only tests of these names")
    parser.add_argument("-E", dest="without", default="", metavar="REGEX", help="none of these")
    parser.add_argument("--timeout", type=float, default=0, metavar="SECONDS", help="in place of every test's own limit")
    parser.add_argument("--alone", action="store_true", help="each test in a process of its own")
    return parser.parse_args(words)


def main(words):
    options = arguments(words)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tests = read_tests(options.build, options.only, options.without, options.timeout)
        report = Report(len(tests), say)
        try:
            jobs = max(1, options.jobs)
            run_all(batches(tests, options.alone), jobs, report, stop, most_bytes_of(options.build, jobs))
        finally:
            report.write(options.junit)
        if options.without:
            say_left_out(tests, read_tests(options.build, options.only))
    except ListingError as error:
        say(f"error: {error}")
        return 2
    except (KeyboardInterrupt, Ended):
        say("interrupted")
        return 130
    if not tests:
        say("no test has such a name")
    return 1 if report.failed() or not tests else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
