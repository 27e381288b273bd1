"""Makes what a package has beside programs, libraries and headers: documents.py PART ROOT BUILD FOLDER.

PART is program, library, development or python3. FOLDER gets `usr` (and `etc` of the program): man pages of the help
texts, completion, the unit of systemd, examples, changelogs, and `copyright` with the licences of all that is compiled
in. What is linked as a shared library is named with its package. SOURCE_DATE_EPOCH dates the changelog."""

import glob
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

NAMES = {"program": "tandem", "library": "libtandem0", "development": "libtandem-dev", "python3": "python3-tandem"}
# Who makes the packages, by the variables of Debian's own tools. The host of the default exists nowhere (RFC 2606).
MAINTAINER = "{} <{}>".format(os.environ.get("DEBFULLNAME", "The Tandem authors"), os.environ.get("DEBEMAIL", "authors@tandem.invalid"))
# The compiler's own files. Their licences except what is compiled with them.
COMPILER = re.compile(r"(libc6-dev|linux-libc-dev|libstdc\+\+-\d+-dev|libgcc-\d+-dev|gcc-\d+|libcrypt-dev)$")


def said_by(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def write_packed(path, text):
    """As gzip -9n writes it: the same bytes on every day."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file, gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=0) as packed:
        packed.write(text.encode())


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o644)


def version_of(root):
    return re.search(r"project\(tandem VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text()).group(1)


def release_of(build):
    found = re.search(r"(?m)^TANDEM_PACKAGE_RELEASE:\w+=(.+)$", (build / "CMakeCache.txt").read_text())
    return found.group(1) if found else "1"


def packages_of(files):
    """The Debian packages that files belong to. A file of no package is an error."""
    names, missing = set(), []
    files = sorted({os.path.realpath(file) for file in files})
    for at in range(0, len(files), 500):
        batch = files[at : at + 500]
        answer = subprocess.run(["dpkg", "-S", *batch], capture_output=True, text=True)
        found = dict(reversed(line.split(": ", 1)) for line in answer.stdout.splitlines() if ": " in line)
        names |= {found[file].split(",")[0].split(":")[0] for file in batch if file in found}
        missing += [file for file in batch if file not in found]
    # Debian's merged /usr: dpkg may know a file of /usr/lib as one of /lib.
    for file in missing:
        answer = subprocess.run(["dpkg", "-S", file.removeprefix("/usr")], capture_output=True, text=True)
        if answer.returncode:
            sys.exit(f"documents.py: {file} belongs to no Debian package, so its licence is not known")
        names.add(answer.stdout.split(":")[0])
    return names


def is_of_part(object_name, part):
    if object_name.startswith(("tests/", "bench/")):
        return False
    return part == "python3" or not object_name.startswith("python/")


def headers_of(build, part):
    """Headers of other projects that were compiled into the part, as the build recorded them."""
    headers, wanted = set(), False
    for line in said_by("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            wanted = is_of_part(line.split(":")[0], part)
        elif wanted and line.startswith("    /usr/"):
            headers.add(line.strip())
    return headers


def shared_libraries_of(binaries):
    """{library: its file} of what the loader would load for binaries."""
    found = {}
    for binary in binaries:
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", said_by("readelf", "-d", str(binary))))
        for name, path in re.findall(r"(?m)^\s+(\S+) => (/\S+)", said_by("ldd", str(binary))):
            if name in needed:
                found[name] = path
    return found


def binaries_of(build, part):
    return {"program": [build / "tandem", build / "tandem-prove"], "library": sorted(build.glob("libtandem.so.*.*")),
            "development": [], "python3": sorted((build / "python" / "tandem").glob("_tandem*.so"))}[part]


def licence_of(package):
    path = pathlib.Path("/usr/share/doc", package, "copyright")
    if not path.is_file():
        sys.exit(f"documents.py: {path} is missing, which has the licence of what is compiled in")
    return path.read_text(encoding="utf-8", errors="replace").rstrip()


def copyright_text(root, build, part):
    compiled_in = sorted(name for name in packages_of(headers_of(build, part)) if not COMPILER.match(name))
    text = "Tandem\n======\n\n" + (root / "LICENSE").read_text().rstrip() + "\n"
    libraries = shared_libraries_of(binaries_of(build, part))
    if libraries:
        text += "\nShared libraries that are loaded\n================================\n\n"
        text += "Each is a package of its own, with its licence in /usr/share/doc/PACKAGE/copyright:\n"
        text += "".join(f"  {name}\n" for name in sorted(packages_of(libraries.values())))
    text += "\nCompiled in\n===========\n\nHeader files of these packages were compiled in. Their licences follow:\n"
    text += "".join(f"  {name}\n" for name in compiled_in)
    for name in compiled_in:
        text += f"\n{name}\n{'-' * len(name)}\n\n{licence_of(name)}\n"
    return text


def debian_changelog(name, version, release):
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "0"))))
    return (f"{'tandem'} ({version}-{release}) unstable; urgency=medium\n\n"
            f"  * /usr/share/doc/{name}/changelog.gz says what changed.\n\n -- {MAINTAINER}  {date}\n")


def add_documents(part, root, build, usr):
    name, version = NAMES[part], version_of(root)
    folder = usr / "share" / "doc" / name
    folder.mkdir(parents=True)
    (folder / "copyright").write_text(copyright_text(root, build, part), encoding="utf-8")
    write_packed(folder / "changelog.gz", (root / "CHANGELOG.md").read_text())
    write_packed(folder / "changelog.Debian.gz", debian_changelog(name, version, release_of(build)))


def add_examples(root, pattern, usr, part):
    for path in glob.glob(str(root / "examples" / pattern)):
        copy(path, usr / "share" / "doc" / NAMES[part] / "examples" / os.path.basename(path))


def add_program(root, build, usr):
    pages = build / "packaging" / "man"
    shutil.rmtree(pages, ignore_errors=True)
    subprocess.run(["bash", root / "packaging" / "man_pages.sh", build / "tandem", pages], check=True)
    for page in sorted(pages.iterdir()):
        write_packed(usr / "share" / "man" / "man1" / (page.name + ".gz"), page.read_text())
    for shell, place in (("bash", "bash-completion/completions/tandem"), ("zsh", "zsh/vendor-completions/_tandem"),
                         ("fish", "fish/vendor_completions.d/tandem.fish")):
        path = usr / "share" / place
        path.parent.mkdir(parents=True)
        path.write_text(said_by(str(build / "tandem"), "completion", shell))
    copy(root / "packaging" / "tandem.service", usr / "lib" / "systemd" / "system" / "tandem.service")
    copy(root / "packaging" / "serve.conf", usr.parent / "etc" / "tandem" / "serve.conf")


def main(part, root, build, folder):
    os.umask(0o022)
    root, build, folder = pathlib.Path(root), pathlib.Path(build), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    usr = folder / "usr"
    add_documents(part, root, build, usr)
    if part == "program":
        add_program(root, build, usr)
    elif part == "development":
        add_examples(root, "*.cpp", usr, part)
        add_examples(root, "c/*.c", usr, part)
    elif part == "python3":
        add_examples(root, "python/*.py", usr, part)


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in NAMES:
        sys.exit(__doc__)
    main(*sys.argv[1:])
