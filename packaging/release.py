"""Checks a tree before a release: release.py ROOT. Prints a line for each check; the status is 1 if one fails.

Versions agree in CMake, the wheel, the site, the changelog and the packages that were made; each package has the
licences of what is linked; the tree has no change that is not committed."""

import pathlib
import re
import shutil
import subprocess
import sys

PACKAGES = ("tandem", "libtandem0", "libtandem-dev", "python3-tandem")


def found(pattern, path):
    match = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    return match.group(1) if match else None


def versions_of(root):
    """{place: version}, None where a place has none."""
    versions = {
        "CMakeLists.txt": found(r"project\(tandem VERSION ([\d.]+)", root / "CMakeLists.txt"),
        "pyproject.toml": found(r'^version = "([\d.]+)"', root / "pyproject.toml"),
        "CHANGELOG.md": found(r"^## (?:Unreleased \()?(\d[\d.]*)", root / "CHANGELOG.md"),
        "site/mkdocs.yml": found(r"^copyright: Tandem ([\d.]+)", root / "site" / "mkdocs.yml"),
    }
    for path in sorted((root / "build" / "packages").glob("*.deb")):
        versions[f"build/packages/{path.name}"] = path.name.split("_")[1].rpartition("-")[0]
    for path in sorted((root / "build" / "packages").glob("*.tar.gz")):
        versions[f"build/packages/{path.name}"] = path.name.split("-")[1]
    for path in sorted((root / "build" / "wheel" / "new").glob("*.whl")):
        versions[f"build/wheel/new/{path.name}"] = path.name.split("-")[1]
    return versions


def problems_of_versions(versions):
    wanted = versions["CMakeLists.txt"]
    if wanted is None:
        return ["CMakeLists.txt has no version"]
    return [f"{place} has the version {version}, and CMakeLists.txt has {wanted}"
            for place, version in versions.items() if version != wanted]


def problems_of_licences(folder):
    """Each package has a file `copyright` with the licence of Tandem and of what is compiled in."""
    if not folder.is_dir():
        return ["there are no packages; ./dev package makes them"]
    problems = []
    for name in PACKAGES:
        paths = sorted(folder.glob(f"{name}_*.deb"))
        if not paths:
            problems.append(f"there is no package {name}")
            continue
        tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(paths[-1])], capture_output=True, check=True).stdout
        text = subprocess.run(["tar", "-xO", f"./usr/share/doc/{name}/copyright"], input=tar, capture_output=True)
        if text.returncode or b"The Tandem authors" not in text.stdout or b"Compiled in" not in text.stdout:
            problems.append(f"{paths[-1].name} lacks the licences of what is linked")
    return problems


def problems_of_tree(root):
    if not shutil.which("git"):
        return ["git is not installed"]
    answer = subprocess.run(["git", "-C", str(root), "status", "--porcelain"], capture_output=True, text=True)
    if answer.returncode:
        return ["the tree is no repository of git"]
    return [f"not committed: {line[3:]}" for line in answer.stdout.splitlines()]


def main(root):
    root = pathlib.Path(root)
    status = 0
    for what, problems in (("versions agree", problems_of_versions(versions_of(root))),
                           ("licences are in the packages", problems_of_licences(root / "build" / "packages")),
                           ("the tree is clean", problems_of_tree(root))):
        print(f"{'FAILED' if problems else 'ok'}: {what}")
        for problem in problems:
            print(f"  {problem}")
        status |= bool(problems)
    return status


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
