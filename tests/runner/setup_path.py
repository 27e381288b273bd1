"""Makes a folder of links to the programs that a bare Debian has after `./dev setup`, and no others, for a test's PATH.

    setup_path.py FOLDER PACKAGE...

Such a machine has the named packages, their dependencies, and the base system: essential and required packages, and
apt. A test that calls any other program does not find it, and fails here as it would fail there. Packages that are not
installed here get no links. Status: 0, or 1 if dpkg fails.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

FOLDERS = ("bin", "sbin", "usr/bin", "usr/sbin")
FORMAT = "${Package}\\t${db:Status-Abbrev}\\t${Essential}\\t${Priority}\\t${Provides}\\t${Pre-Depends}, ${Depends}\\n"


def lines_of(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def names_of(clauses):
    """The names in each clause: [[a], [b, c]] for `a (>= 1), b:any | c`."""
    return [[re.split(r"[\s:(\[]", name.strip())[0] for name in clause.split("|")] for clause in clauses.split(",") if clause.strip()]


class Packages:
    def __init__(self, root):
        self.root, self.needs, self.base, self.provided = root, {}, {"apt"}, {}
        for line in lines_of(["dpkg-query", f"--admindir={root}/var/lib/dpkg", "--show", f"--showformat={FORMAT}"]):
            name, status, essential, priority, provides, needs = line.split("\t")
            if status[1:2] != "i":
                continue
            self.needs[name] = names_of(needs)
            if essential == "yes" or priority == "required":
                self.base.add(name)
            for (each,) in names_of(provides):
                self.provided.setdefault(each, name)

    def installed(self, name):
        return name if name in self.needs else self.provided.get(name)

    def behind(self, names):
        """Installed packages of `names`, the base system, and dependencies. The first installed alternative counts."""
        found, waiting = set(), [*names, *self.base]
        while waiting:
            name = self.installed(waiting.pop())
            if name and name not in found:
                found.add(name)
                waiting += [next(filter(self.installed, clause), "") for clause in self.needs[name]]
        return sorted(found)

    def files(self, names):
        return {Path(line) for line in lines_of(["dpkg-query", f"--admindir={self.root}/var/lib/dpkg", "--listfiles", *names]) if line.startswith("/")}


def alternative(root, link, files):
    """The target among `files` of a link into /etc/alternatives: its current target, or else another choice."""
    now, listed = root / str(link.readlink())[1:], root / "var/lib/dpkg/alternatives" / link.name
    choices = [str(now.readlink())] if now.is_symlink() else []
    if listed.exists():
        choices += listed.read_text().splitlines()
    return next((Path(path) for path in choices if Path(path) in files), None)


def programs(root, files):
    """The programs among `files` by name, with those that links of the alternatives system lead to."""
    found = {}
    for folder in FOLDERS:
        inside = root / folder
        for path in sorted(inside.iterdir()) if inside.is_dir() else []:
            target = Path("/") / folder / path.name
            if path.is_symlink() and str(path.readlink()).startswith("/etc/alternatives/"):
                target = alternative(root, path, files)
            elif target not in files:
                continue
            if target:
                found.setdefault(path.name, target)
    return found


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--root", type=Path, default=Path("/"), help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    try:
        packages = Packages(options.root)
        found = programs(options.root, packages.files(packages.behind(options.packages)))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"error: the installed packages cannot be listed: {error}\n{getattr(error, 'stderr', '')}", file=sys.stderr)
        return 1
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    for name, target in found.items():
        (options.folder / name).symlink_to(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
