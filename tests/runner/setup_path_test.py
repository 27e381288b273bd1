"""The folder of programs that a bare machine has after `./dev setup`, on a toy machine with a few packages."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import setup_path

# name, extra fields, programs
PACKAGES = [
    ("shell", "Essential: yes\nPre-Depends: libc\n", ["/bin/sh"]),
    ("libc", "", ["/usr/bin/ldd"]),
    ("mawk", "Priority: required\nProvides: awk\n", ["/usr/bin/mawk"]),
    ("gawk", "Provides: awk\n", ["/usr/bin/gawk"]),
    ("apt", "", ["/usr/bin/apt-get"]),
    ("compiler", "Depends: linker (>= 1.2) | other-linker, assembler:any, font\nRecommends: nicety\n", ["/usr/bin/compiler"]),
    ("other-linker", "", ["/usr/bin/ld"]),
    ("gnu-as", "Provides: assembler (= 2.0)\n", ["/usr/bin/as"]),
    ("nicety", "", ["/usr/bin/nicety"]),
    ("git", "Depends: libc\n", ["/usr/bin/git", "/usr/bin/git-shell"]),
    ("removed", "", ["/usr/bin/removed"]),
]


class OnAToyMachine(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root, self.folder = Path(place.name) / "root", Path(place.name) / "path"
        database = self.root / "var/lib/dpkg"
        (database / "info").mkdir(parents=True)
        (database / "updates").mkdir()
        status = ""
        for name, fields, programs in PACKAGES:
            state = "deinstall ok config-files" if name == "removed" else "install ok installed"
            status += f"Package: {name}\nStatus: {state}\nMaintainer: nobody\nArchitecture: amd64\nVersion: 1\n{fields}Description: toy\n\n"
            (database / "info" / f"{name}.list").write_text("".join(f"{path}\n" for path in ["/.", "/usr/bin", *programs, f"/usr/share/{name}"]))
            for path in programs:
                self.add(path)
        (database / "status").write_text(status)
        self.add("/usr/bin/made_by_hand")

    def add(self, path):
        file = self.root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a program")

    def add_alternatives(self, name, chosen, *others):
        """Adds alternatives in the files of update-alternatives."""
        folder, links = self.root / "var/lib/dpkg/alternatives", self.root / "etc/alternatives"
        folder.mkdir(exist_ok=True)
        links.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{path}\n{10 * number + 10}\n" for number, path in enumerate([*others, chosen]))
        (folder / name).write_text(f"auto\n/usr/bin/{name}\n\n{rows}\n")
        (links / name).symlink_to(chosen)
        (self.root / "usr/bin" / name).symlink_to(f"/etc/alternatives/{name}")

    def programs(self, *packages):
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            self.assertEqual(setup_path.main([str(self.folder), *packages, "--root", str(self.root)]), 0, out.getvalue())
        return {path.name: str(path.readlink()) for path in self.folder.iterdir()}

    def test_has_the_base_system_and_nothing_else_without_packages(self):
        self.assertEqual(sorted(self.programs()), ["apt-get", "ldd", "mawk", "sh"])

    def test_has_the_packages_and_what_they_depend_on_but_nothing_that_they_recommend(self):
        found = self.programs("compiler")
        self.assertEqual(sorted(found), ["apt-get", "as", "compiler", "ld", "ldd", "mawk", "sh"])
        self.assertEqual(found["compiler"], "/usr/bin/compiler")

    def test_forgets_what_it_held_before(self):
        self.assertIn("git", self.programs("git"))
        self.assertNotIn("git", self.programs("compiler"))

    def test_has_nothing_of_packages_that_are_not_here(self):
        self.assertEqual(self.programs("nowhere", "removed"), self.programs())

    def test_follows_alternatives_to_what_a_bare_machine_has(self):
        self.add_alternatives("awk", "/usr/bin/gawk", "/usr/bin/mawk")
        self.add_alternatives("editor", "/usr/bin/made_by_hand")
        found = self.programs()
        self.assertEqual(found["awk"], "/usr/bin/mawk")
        self.assertNotIn("editor", found)
        self.assertEqual(self.programs("gawk")["awk"], "/usr/bin/gawk")

    def test_is_not_made_where_dpkg_has_no_answer(self):
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            self.assertEqual(setup_path.main([str(self.folder), "--root", str(self.root / "nowhere")]), 1)
        self.assertIn("cannot be listed", out.getvalue())


if __name__ == "__main__":
    unittest.main()
