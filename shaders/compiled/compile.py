"""Compiles the shaders that Debian 12's compiler cannot compile, or checks that the compiled ones belong to their sources.

    compile.py --check [FOLDER]            needs no compiler; status 1 if a source has changed since
    compile.py GLSLANG SPIRV_VAL [FOLDER]  compiles, checks and replaces them (./dev shaders fetches both programs)

FOLDER is shaders/. A line `// compiled kernels: a b` of a .comp file there names kernels. Each becomes
FOLDER/compiled/KERNEL.spv, compiled with -DKERNEL_a. FOLDER/compiled/sources.txt has a line for each: the kernel, a hash
of its source, and a hash of the module. The source is the .comp file with all that it includes, without comments.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path


def expanded(path):
    """The text of a source with what it includes, without comments and blank lines."""
    lines = []
    for line in path.read_text().splitlines():
        included = re.match(r'#include "(.*)"', line)
        if included:
            lines.append(expanded(path.parent / included[1]))
        elif code := re.sub(r"//.*", "", line).rstrip():
            lines.append(code)
    return "\n".join(lines)


def kernels_of(folder):
    """(kernel, source file) of every kernel that is compiled beforehand."""
    for source in sorted(folder.glob("*.comp")):
        for listed in re.findall(r"^// compiled kernels: (.*)$", source.read_text(), re.MULTILINE):
            for kernel in listed.split():
                yield kernel, source


def digest(data):
    return hashlib.sha256(data).hexdigest()[:32]


def record(folder):
    """The lines of sources.txt for what is there now."""
    lines = []
    for kernel, source in kernels_of(folder):
        module = folder / "compiled" / f"{kernel}.spv"
        of_module = digest(module.read_bytes()) if module.exists() else "none"
        lines.append(f"{kernel} {digest(expanded(source).encode())} {of_module}\n")
    return "".join(lines)


def check(folder):
    kept = folder / "compiled" / "sources.txt"
    if kept.exists() and kept.read_text() == record(folder):
        return 0
    print("shaders/compiled does not belong to its sources; ./dev shaders compiles it anew", file=sys.stderr)
    return 1


def compile_all(folder, glslang, spirv_val):
    for kernel, source in kernels_of(folder):
        module = folder / "compiled" / f"{kernel}.spv"
        subprocess.run([glslang, "-V", "--target-env", "vulkan1.2", f"-DKERNEL_{kernel}", "-o", module, source], check=True)
        subprocess.run([spirv_val, "--target-env", "vulkan1.2", module], check=True)
    (folder / "compiled" / "sources.txt").write_text(record(folder))
    return 0


def main(arguments):
    programs = 1 if arguments[:1] == ["--check"] else 2
    if len(arguments) not in (programs, programs + 1):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[programs]) if len(arguments) > programs else Path(__file__).resolve().parent.parent
    return check(folder) if programs == 1 else compile_all(folder, *arguments[:2])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
