"""Runs a program as a user would, and times its first and its last output."""

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

_OWN_SETTINGS = ("TANDEM_DEVICE", "TANDEM_LOG", "TANDEM_MODEL")  # a user's settings must not change the measurement


@dataclass
class Launch:
    first_seconds: float  # from before the start of the process to its first byte on standard output
    last_seconds: float  # the same, up to the last bytes
    total_seconds: float  # the same, up to its end
    output: str
    messages: str

    def text_rate(self, tokens):
        """Tokens a second from the first one on, for an output of `tokens` tokens."""
        return (tokens - 1) / max(self.last_seconds - self.first_seconds, 1e-6)


class Caches:
    """Folders in which programs keep files between runs. They are in one temporary folder, which is removed at the end.

    Programs see every such folder under the same path. A machine's paths do not change, and Tandem's knowledge of a
    driver is tied to the variables that the driver reads. A program may leave another one behind that still uses a
    folder, for example a compiler of kernels. The next measurement waits for it, or ends it."""

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
        """Waits until no process uses the folder any more."""
        if not _wait_for_none(folder, timeout_seconds):
            raise Failed(f"a program that was left behind goes on after {timeout_seconds} s")


def _path_of_all(folder):
    return os.path.join(os.path.dirname(folder), "machine")


def _shown_as_machine(folder):
    """The one path under which all folders beside this one are shown; from now on it shows this folder."""
    link = _path_of_all(folder)
    if os.path.islink(link) and os.readlink(link) == folder:
        return link
    if os.path.islink(link):
        _end_those_with(os.readlink(link))
        os.remove(link)
    os.symlink(folder, link)
    return link


def _processes_with(folder):
    """Ids of the processes whose cache folder is this one, or lies in it."""
    link = _path_of_all(folder)
    names = [f"XDG_CACHE_HOME={folder}/"]
    if os.path.islink(link) and os.readlink(link) == folder:
        names.append(f"XDG_CACHE_HOME={link}/")
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                values = file.read().split(b"\0")
        except OSError:  # it has ended, or belongs to another user
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
    """The environment in which the program and the compilers of PoCL and Mesa keep files in `cache`; None: the user's own."""
    values = {name: value for name, value in (os.environ if base is None else base).items()
              if name not in _OWN_SETTINGS}
    if cache:
        values.update(XDG_CACHE_HOME=cache, POCL_CACHE_DIR=os.path.join(cache, "pocl"),
                      MESA_SHADER_CACHE_DIR=os.path.join(cache, "mesa"))
    return values


def bring_into_memory(path):
    """Reads a file once, because its pages may have left memory, and the comparison is not about disks."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 22):
            pass


def launch(command, cache=None, lines="", timeout_seconds=600, model=None):
    """Runs `command` after a pause, with `lines` as its input, and reads its output as it comes."""
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
        except BaseException:  # interrupted: end the program first
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
