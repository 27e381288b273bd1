"""Tests of packaging/release.py: each check fails for what it is about, and for nothing else."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import release  # noqa: E402


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class Versions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        write(self.root / "CMakeLists.txt", "project(tandem VERSION 1.2.3 LANGUAGES CXX)\n")
        write(self.root / "pyproject.toml", 'version = "1.2.3"\n')
        write(self.root / "CHANGELOG.md", "# Changelog\n\n## Unreleased (1.2.3)\n")
        write(self.root / "site" / "mkdocs.yml", "copyright: Tandem 1.2.3\n")
        write(self.root / "build" / "packages" / "tandem_1.2.3-1_amd64.deb", "")
        write(self.root / "build" / "packages" / "tandem-1.2.3-linux-x86_64.tar.gz", "")

    def problems(self):
        return release.problems_of_versions(release.versions_of(self.root))

    def test_that_agree_are_no_problem(self):
        self.assertEqual(self.problems(), [])
        self.assertEqual(len(release.versions_of(self.root)), 6)

    def test_that_differ_are_named(self):
        for file, text in (("pyproject.toml", 'version = "1.2.4"\n'), ("CHANGELOG.md", "## 1.2\n"),
                           ("site/mkdocs.yml", "site_name: Tandem\n")):
            kept = (self.root / file).read_text()
            write(self.root / file, text)
            self.assertEqual(len(self.problems()), 1, file)
            self.assertIn(file, self.problems()[0])
            write(self.root / file, kept)

    def test_of_old_packages_are_named(self):
        write(self.root / "build" / "packages" / "libtandem0_1.2.2-1_amd64.deb", "")
        self.assertEqual(len(self.problems()), 1)
        self.assertIn("1.2.2", self.problems()[0])

    def test_of_an_old_wheel_are_named(self):
        wheel = self.root / "build" / "wheel" / "new" / "tandem_engine-1.2.2-cp311-cp311-linux_x86_64.whl"
        write(wheel, "")
        self.assertEqual(self.problems(),
                         [f"build/wheel/new/{wheel.name} has the version 1.2.2, and CMakeLists.txt has 1.2.3"])

    def test_of_this_tree_agree(self):
        versions = {place: version for place, version in release.versions_of(ROOT).items() if not place.startswith("build")}
        self.assertEqual(release.problems_of_versions(versions), [])


class Tree(unittest.TestCase):
    def test_without_git_is_not_known_to_be_clean(self):
        with unittest.mock.patch("shutil.which", return_value=None):
            self.assertEqual(release.problems_of_tree(ROOT), ["git is not installed"])

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_with_a_new_file_is_not_clean(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(release.problems_of_tree(root), ["the tree is no repository of git"])
            subprocess.run(["git", "init", "-q", folder], check=True)
            self.assertEqual(release.problems_of_tree(root), [])
            write(root / "new.txt", "x")
            self.assertEqual(release.problems_of_tree(root), ["not committed: new.txt"])


class Licences(unittest.TestCase):
    def test_are_missed_without_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            missing = release.problems_of_licences(pathlib.Path(folder, "none"))
            self.assertEqual(missing, ["there are no packages; ./dev package makes them"])
            self.assertEqual(len(release.problems_of_licences(pathlib.Path(folder))), len(release.PACKAGES))


if __name__ == "__main__":
    unittest.main()
