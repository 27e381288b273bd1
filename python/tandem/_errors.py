"""What goes wrong: one sentence with what failed, on what, and what to do next."""
from __future__ import annotations

import os
from typing import Union


class Error(Exception):
    """The work failed. `what` says what failed, `on` its object, `hint` what to do next (it may be empty)."""

    def __init__(self, what: str, on: str = "", hint: str = "") -> None:
        super().__init__(what, on, hint)
        self.what, self.on, self.hint = what, on, hint

    def __str__(self) -> str:
        return self.what + (f": {self.on}" if self.on else "") + (f". {self.hint}" if self.hint else "")


class UsageError(Error, ValueError):
    """The call is wrong: an argument, the order of calls, a closed model, a process that was forked."""


class FileError(Error):
    """A file cannot be read or written, is no model, or is damaged."""


class DeviceError(Error):
    """A device is unknown, missing, or cannot be opened."""


class ContextError(Error):
    """Tokens do not fit the context."""


def path_bytes(path: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]) -> bytes:
    """A path as the system has it. Names of files need not be UTF-8."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise UsageError("a path has a null character", repr(path)[:80], "No name of a file has one")
    return name
