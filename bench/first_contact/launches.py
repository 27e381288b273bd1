"""Runs a program as a user would and says when its first and its last words came."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

import processes
from processes import Failed

_OWN_SETTINGS = ("TANDEM_DEVICE", "TANDEM_LOG", "TANDEM_MODEL")  # a user's choices are not what is measured


@dataclass
class Launch:
    first_seconds: float  # from before the start of the process to its first byte on standard output
    last_seconds: float  # the same to the last bytes
    total_seconds: float  # to after its end
    output: str
    messages: str

    def text_rate(self, tokens):
        """Tokens a second from the first one on, where the output was so many."""
        return (tokens - 1) / max(self.last_seconds - self.first_seconds, 1e-6)


class Caches:
    """Folders that programs keep things in between runs, below one temporary folder that goes away in the end.

    Programs see the one that they are given under the same path as all others: a machine's paths do not change, and
    what is known of a driver is known for the variables that it reads. A program may leave another one behind that
    goes on with such a folder: compilers of kernels do. Who measures the next thing waits for it, or ends it."""

    def __init__(self):
        self._root = tempfile.mkdtemp(prefix="tandem-first-contact-")
        self._count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.drop(self._root)

    def empty(self):
        self._count += 1
        folder = os.path.join(self._root, str(self._count))
        os.mkdir(folder)
        return folder

    def copy(self, folder):
        self._count += 1
        return shutil.copytree(folder, os.path.join(self._root, str(self._count)))

    @staticmethod
    def drop(folder):
        _end_those_with(folder)
        shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def settle(folder, timeout_seconds):
        """Until nobody works with the folder any more."""
        if not _wait_for_none(folder, timeout_seconds):
            raise Failed(f"a program that was left behind goes on after {timeout_seconds} s")


def _path_of_all(folder):
    return os.path.join(os.path.dirname(folder), "machine")


def _shown_as_machine(folder):
    """The path that every folder beside this one is shown under, and now this one."""
    link = _path_of_all(folder)
    if os.path.islink(link) and os.readlink(link) == folder:
        return link
    if os.path.islink(link):
        _end_those_with(os.readlink(link))
        os.remove(link)
    os.symlink(folder, link)
    return link


def _processes_with(folder):
    """Those whose folder for what they keep is this one, or lies in it."""
    link = _path_of_all(folder)
    names = [f"XDG_CACHE_HOME={folder}/"]
    if os.path.islink(link) and os.readlink(link) == folder:
        names.append(f"XDG_CACHE_HOME={link}/")
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                values = file.read().split(b"\0")
        except OSError:  # it has ended, or is somebody else's
            continue
        caches = [value.decode(errors="replace") + "/" for value in values if value.startswith(b"XDG_CACHE_HOME=")]
        if any(cache.startswith(name) for cache in caches for name in names):
            found.append(int(name))
    return found


def _end_those_with(folder):
    for process in _processes_with(folder):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    _wait_for_none(folder, 10)


def _wait_for_none(folder, timeout_seconds):
    end = time.monotonic() + timeout_seconds
    while _processes_with(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def environment(cache=None, base=None):
    """Where a program keeps things: the program itself, the compilers of PoCL and Mesa. None: as the user has it."""
    values = {name: value for name, value in (os.environ if base is None else base).items()
              if name not in _OWN_SETTINGS}
    if cache:
        values.update(XDG_CACHE_HOME=cache, POCL_CACHE_DIR=os.path.join(cache, "pocl"),
                      MESA_SHADER_CACHE_DIR=os.path.join(cache, "mesa"))
    return values


def bring_into_memory(path):
    """Reads a file once: a machine may have given up its pages since, and disks are not what is compared."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 22):
            pass


def launch(command, cache=None, lines="", timeout_seconds=600, model=None):
    """Runs `command` after a pause, with `lines` as its input; its output is read as it comes."""
    time.sleep(processes.PAUSE_SECONDS)
    if model:
        bring_into_memory(model)
    name = os.path.basename(command[0])
    with tempfile.TemporaryFile() as messages, tempfile.TemporaryFile() as given:
        given.write(lines.encode())
        given.seek(0)
        started = time.perf_counter()
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=messages,
                                   env=environment(cache and _shown_as_machine(cache)))
        killer = threading.Timer(timeout_seconds, process.kill)
        killer.start()
        try:
            pieces = _read(process.stdout, started)
            process.wait()
        except BaseException:  # interrupted: leave no program behind
            process.kill()
            process.wait()
            raise
        finally:
            total = time.perf_counter() - started
            killer.cancel()
            process.stdout.close()
        messages.seek(0)
        words = messages.read().decode(errors="replace")
    if process.returncode != 0:
        late = f" after {total:.0f} s (limit {timeout_seconds} s)" if total >= timeout_seconds else ""
        last_words = "\n".join(words.strip().splitlines()[-8:])
        raise Failed(f"{name} ended with status {process.returncode}{late}", last_words)
    written = [(when, piece) for when, piece in pieces if piece.strip()]  # the peer ends with empty lines
    if not written:
        raise Failed(f"{name} wrote nothing")
    output = b"".join(piece for _, piece in pieces).decode(errors="replace")
    return Launch(pieces[0][0], written[-1][0], total, output, words)


def _read(stream, started):
    pieces = []
    while piece := os.read(stream.fileno(), 1 << 16):
        pieces.append((time.perf_counter() - started, piece))
    return pieces
