"""A running test program."""

import os
import select
import signal
import subprocess

OF_THE_USER = ("GTEST_FILTER", "GTEST_OUTPUT", "GTEST_SHUFFLE", "GTEST_REPEAT", "GTEST_TOTAL_SHARDS", "GTEST_BRIEF", "GTEST_COLOR",
               "GTEST_FAIL_FAST", "GTEST_PRINT_TIME")  # these change which tests run, or the output
LOOK_EVERY_SECONDS = 0.1


class Ended(Exception):
    """The runner was asked to end."""


def environment_of(test):
    values = {name: value for name, value in os.environ.items() if name not in OF_THE_USER}
    values.update(test.environment)
    for name, value in test.appended:
        values[name] = values[name] + ":" + value if values.get(name) else value
    return values


def command_of(tests):
    """The command that runs these tests of one GoogleTest program."""
    if len(tests) == 1:
        return list(tests[0].command)
    names = "--gtest_filter=" + ":".join(test.inside for test in tests)
    return [names if word.startswith("--gtest_filter=") else word for word in tests[0].command]


class Process:
    """A context manager: its end kills everything that the program started in its session."""

    def __init__(self, tests):
        self.child = subprocess.Popen(command_of(tests), cwd=tests[0].folder, env=environment_of(tests[0]), stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.pipe = self.child.stdout.fileno()
        os.set_blocking(self.pipe, False)
        self.rest, self.open = b"", True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        self.child.stdout.close()

    def takes_more_than(self, most_bytes):
        """Whether the program itself has so much memory now. `most_bytes`: None for no bound."""
        if most_bytes is None:
            return False
        try:
            with open(f"/proc/{self.child.pid}/statm") as sizes:
                return int(sizes.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") > most_bytes
        except (OSError, IndexError):  # it has ended
            return False

    def lines(self, stop, hangs):
        """Yields whole lines until the end. Raises TimeoutError when hangs() holds, and Ended when `stop` is set."""
        while True:
            # The program's own end counts, because its children may keep the pipe open.
            ended = self.child.poll() is not None
            yield from self.read(0 if ended else LOOK_EVERY_SECONDS)
            if ended:
                break
            if stop.is_set():
                raise Ended
            if hangs():
                raise TimeoutError
        if self.rest:
            yield self.rest.decode(errors="replace")

    def read(self, patience):
        if not self.open:
            self.child.poll() is None and select.select([], [], [], patience)
            return []
        if not select.select([self.pipe], [], [], patience)[0]:
            return []
        got = b""
        try:
            while self.open:
                block = os.read(self.pipe, 1 << 16)
                self.open, got = bool(block), got + block
        except BlockingIOError:
            pass
        *lines, self.rest = (self.rest + got).split(b"\n")
        return [line.decode(errors="replace") for line in lines]
