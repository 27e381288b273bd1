"""Runs programs one after another, and reports the time and the peak memory of each."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

# Threads of the previous process may still be ending, and its pages may still be being freed.
PAUSE_SECONDS = 0.3


class Failed(Exception):
    """A program failed, reached its time limit, or printed something unexpected.

    `what` goes into reports. `details`, the program's own words, may name files and are only for the terminal."""

    def __init__(self, what, details=""):
        super().__init__(what + (f":\n{details}" if details else ""))
        self.what = what


@dataclass
class Finished:
    seconds: float  # of the whole process, from before its start to after its end
    peak_bytes: int  # the largest resident set; never below this interpreter's own, which is small
    output: str
    messages: str


def _text(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def _last_lines(text, count=8):
    return "\n".join(text.strip().splitlines()[-count:])


def run(command, timeout_seconds=600, text="", enter=None):
    """Runs `command` after a pause; `text` is its input. Input and output are files, because an unread pipe would block.
    enter: called in the child before it becomes the program."""
    time.sleep(PAUSE_SECONDS)
    name = os.path.basename(command[0])
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        asked.write(text.encode())
        asked.seek(0)
        started = time.perf_counter()
        process = subprocess.Popen(command, stdin=asked, stdout=output, stderr=messages, preexec_fn=enter)
        killer = threading.Timer(timeout_seconds, process.kill)
        killer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:  # interrupted: end the program first
            process.kill()
            process.wait()
            raise
        finally:
            seconds = time.perf_counter() - started
            killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            late = f" after {seconds:.0f} s (limit {timeout_seconds} s)" if seconds >= timeout_seconds else ""
            raise Failed(f"{name} ended with status {process.returncode}{late}", _last_lines(_text(messages)))
        return Finished(seconds, usage.ru_maxrss * 1024, _text(output), _text(messages))


def busy_seconds(stat_text, ticks_per_second):
    """Busy processor time in /proc/stat, over all cores: user, nice, system, irq, softirq."""
    fields = [int(number) for number in stat_text.split("\n", 1)[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:7])) / ticks_per_second


class OtherLoad:
    """The number of cores that other processes kept busy since its construction, on average. None without /proc/stat.

    The peer's threads spin for each other, so a busy neighbour slows them by far more than the time that it takes. A
    ratio that is measured beside one says little about a quiet machine."""

    def __init__(self):
        self._begin = self._reading()

    @staticmethod
    def _reading():
        try:
            with open("/proc/stat", encoding="ascii") as file:
                busy = busy_seconds(file.read(), os.sysconf("SC_CLK_TCK"))
        except OSError:
            return None
        own = os.times()
        return time.monotonic(), busy - (own.user + own.system + own.children_user + own.children_system)

    def cores(self):
        end = self._reading()
        if self._begin is None or end is None:
            return None
        return max(0.0, (end[1] - self._begin[1]) / (end[0] - self._begin[0]))


_BUSY_LOOP = """
import os
os.sched_setaffinity(0, range(os.cpu_count()))
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1000000): pass
"""


@contextmanager
def busy_neighbour(wanted=True):
    """Runs one process that computes all the time. It is bound to no core, even if this process is."""
    if not wanted:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", _BUSY_LOOP])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def in_rounds(pair_count, measurements):
    """Measures every Result once as a warm-up and then pair_count times: A B, B A, A B ... `measurements` are
    (result, measure_peer, measure_tandem). Yields the number of each finished round, 0 for the warm-up.

    All results take turns within a round, so that a slow minute of the machine affects all of them alike. A program
    that fails ends its own result, not the others."""
    for number in range(pair_count + 1):
        for result, *both in measurements:
            if result.problem:
                continue
            try:
                pair = _pair(*both, peer_first=number % 2 == 0)
            except Failed as failure:
                result.problem = failure.what
                print(f"{result.name}: {failure}", file=sys.stderr)
            else:
                result.pairs.add(*pair, warm_up=number == 0)
        yield number


def _pair(measure_peer, measure_tandem, peer_first):
    if peer_first:
        peer = measure_peer()
        return peer, measure_tandem()
    tandem = measure_tandem()
    return measure_peer(), tandem
