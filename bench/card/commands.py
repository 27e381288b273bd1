"""Runs one command within a time limit, keeps its output, and ends every process that it started."""

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

GRACE_SECONDS = 3  # from the request to end to the end by force
KEPT_BYTES = 256 * 1024  # of each output stream of a command, kept in the log


class Failed(Exception):
    """A step gave no figure; the message is the reason in the report."""


class OutOfTime(Failed):
    """The step's time was over before the command could end, which says nothing about the command."""


@dataclass
class Finished:
    status: int  # below 0: the signal that ended the command
    seconds: float  # of the whole process
    timed_out: bool
    output: str
    messages: str

    def reason(self):
        """Why there is no figure: the limit, the signal or the status, and the last words."""
        words = [line for line in self.messages.strip().splitlines() if line.strip()]
        last = f": {words[-1][:300]}" if words else ""
        if self.timed_out:
            return f"ended at its limit of {self.seconds:.0f} s{last}"
        if self.status < 0:
            return f"ended by signal {-self.status}{last}"
        return f"status {self.status}{last}"


class Log:
    """A text file with the output of all commands; it is complete after every command."""

    def __init__(self, path):
        self._path = path

    def add(self, title, *streams):
        with open(self._path, "a", encoding="utf-8", errors="replace") as file:
            file.write(f"\n===== {title}\n")
            for text in streams:
                if len(text) > KEPT_BYTES:
                    text = text[: KEPT_BYTES // 2] + "\n[...]\n" + text[-KEPT_BYTES // 2:]
                if text.strip():
                    file.write(text.rstrip("\n") + "\n")


def end_group(process):
    """Ends the process and everything that it started: they are a process group of their own."""
    for number, patience in ((signal.SIGCONT, 0), (signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        if not patience:
            continue
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    process.poll()


def run(command, limit, log, env=None, title=None):
    """Waits at most `limit` seconds. Never raises, whatever the command does; a missing program is status 127."""
    title = title or " ".join(command)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        started = time.monotonic()
        timed_out = False
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=messages, env=env, start_new_session=True)
        except OSError as error:
            log.add(title, str(error))
            return Finished(127, 0.0, False, "", str(error))
        try:
            process.wait(max(0.1, limit))
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            seconds = time.monotonic() - started
            if timed_out or process.returncode is None:
                end_group(process)
        texts = []
        for file in (output, messages):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    status = process.returncode if process.returncode is not None else -signal.SIGKILL
    log.add(f"{title}\n----- status {status}, {seconds:.1f} s{' (limit)' if timed_out else ''}", *texts)
    return Finished(status, seconds, timed_out, *texts)


class Background:
    """A command that runs beside the steps. It pauses while a step is timed."""

    def __init__(self, command, log_path, env=None):
        self._log = open(log_path, "wb")
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, env=env, start_new_session=True)

    def _signal(self, number):
        if self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def pause(self):
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def status(self):
        """None while it runs."""
        return self._process.poll()

    def wait(self, seconds):
        try:
            return self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return None

    def end(self):
        if self._process.poll() is None:
            end_group(self._process)
        self._log.close()
