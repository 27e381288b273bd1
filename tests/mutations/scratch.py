"""A copy of the working tree for mistakes, with a build folder of its own that later runs use again.

Opening the copy makes it equal to the working tree, which removes the leftovers of an interrupted run. Only files with
a different content are written, and they get the current time. So the build sees exactly the changes.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from mutation import MutationError

NOT_COPIED = {"build", ".git", "__pycache__"}


def files_below(root):
    found = set()
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in NOT_COPIED or (name == "build" and folder != str(root))]
        found |= {os.path.relpath(os.path.join(folder, name), root) for name in files}
    return found


def apply(mutation, folder, only_check=False):
    """Applies the patch exactly. Its lines may have moved, but not changed."""
    command = ["patch", "--strip=1", "--fuzz=0", "--forward", "--batch", "--no-backup-if-mismatch", "--reject-file=-", f"--input={mutation.path}"]
    try:
        done = subprocess.run(command + ["--dry-run"] * only_check, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        raise MutationError("patches are applied by the program of that name: install the package patch") from None
    if done.returncode != 0:
        raise MutationError("the patch no longer applies: " + " ".join((done.stdout + done.stderr).split()))


class Scratch:
    def __init__(self, tree, folder):
        self.tree, self.folder = Path(tree), Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.folder.parent / f"{self.folder.name}.lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.lock.close()
            raise MutationError(f"another run uses {self.folder}: wait for its end") from None
        self.make_equal()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lock.close()

    def make_equal(self):
        wanted = files_below(self.tree)
        for name in files_below(self.folder) - wanted:
            (self.folder / name).unlink()
        for name in wanted:
            self.restore(name)

    def restore(self, name):
        source, target = self.tree / name, self.folder / name
        if source.is_symlink() or not source.exists():
            return  # the build does not need it
        if target.exists() and target.read_bytes() == source.read_bytes():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)

    def undo(self, mutation):
        for name in mutation.files:
            self.restore(name)
