"""Compiles the products and the attention of graphics cards to PTX and to machine code, without a card.

    ptx_check.py KERNELS [-v]

clang makes PTX of kernels/*_simt.cl, and NVIDIA's assembler ptxas makes machine code for an H100. No kernel may spill
registers or keep arrays in local memory, and with weights in pieces of rows it loads 16 bytes at once. Status: 0 good,
1 not. Without clang or ptxas it is skipped (PyPI's nvidia-cuda-nvcc-cu12 has ptxas; TANDEM_PTXAS names it).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PLAIN = {"GROUP": 32, "SUPER": 0, "MIN_KIND": 1, "ZERO_POINT": 8}
MINIMA = {"GROUP": 32, "SUPER": 1, "MIN_KIND": 2, "ZERO_POINT": 0}
SMALL_GROUPS = {"GROUP": 16, "SUPER": 1, "MIN_KIND": 0, "ZERO_POINT": 0}
CODE_BOOK = {"GROUP": 32, "SUPER": 0, "MIN_KIND": 0, "ZERO_POINT": 0, "BOOK": 1}


def variants():
    """Sources and options: products of few and of many tokens, of every kind of weights."""
    for form in (PLAIN, MINIMA, SMALL_GROUPS, CODE_BOOK):
        for tokens in (1, 2, 4, 8, None):
            few = {"ROW_PIECES": 1, "ALIGNED_X": 1} | ({"TOKENS": tokens} if tokens else {})
            yield "matmul_i4_simt.cl", form | few
            if form != CODE_BOOK:
                yield "matmul_i8_simt.cl", form | few
            if tokens != 8:
                for bits in (4,) if form == CODE_BOOK else (4, 8):
                    yield "matmul_act8_simt.cl", form | few | {"BITS": bits, "HAS_PACKED_DOT": 2}
    for tokens in (1, 4, 8):  # with what may follow a product
        few = PLAIN | {"ROW_PIECES": 1, "ALIGNED_X": 1, "TOKENS": tokens, "HAS_BIAS": 1}
        for end in ({"HAS_RESIDUAL": 1}, {"HAS_UNIT": 1}):
            yield "matmul_i4_simt.cl", few | end
            if tokens != 8:
                yield "matmul_act8_simt.cl", few | end | {"BITS": 4, "HAS_PACKED_DOT": 2}
    for form in (PLAIN, MINIMA):
        for bits in (4, 8):
            yield "matmul_act8_simt.cl", form | {"ROW_PIECES": 1, "BITS": bits, "MATRIX_UNITS": 1}
    yield "matmul_act8_simt.cl", CODE_BOOK | {"ROW_PIECES": 1, "BITS": 4, "MATRIX_UNITS": 1}
    for element in (0, 1, 2):
        for tokens in (1, 8, None):
            few = {"ALIGNED_X": 1, "TOKENS": tokens} if tokens else {}
            yield "matmul_dense_simt.cl", {"ELEMENT": element, "ROW_PIECES": 1} | few
    for head_dim in (64, 128):
        for tile in (1, 4, 8):
            yield "attention_simt.cl", {"HEAD_DIM": head_dim, "HEAD_DIM_V": head_dim, "TILE": tile}


# The text of a source ends here. The merge of attention_simt.cl follows, which needs more builtins.
ENDS = {"attention_simt.cl": "// Element d of a query's result"}


def expanded(folder, name):
    """The text of a kernel with what it includes."""
    lines = []
    for line in (folder / name).read_text().splitlines():
        included = re.match(r'#include "(.*)"', line)
        lines.append(expanded(folder, included[1]) if included else line)
    return "\n".join(lines)


def common(folder):
    """What products use of kernels/common.cl; its other functions need a whole library of builtins."""
    kept = ("#define VARIANT", "#define INLINE", "#define BUFFER", "#define PTR", "#pragma OPENCL FP_CONTRACT", "INLINE float exp1",
            "INLINE float larger", "INLINE float soft_cap1(")
    text = (folder / "common.cl").read_text()
    exponential = re.search(r"#define EXP_OF_NONE_ABOVE_0(?:.*\\\n)+.*\n", text)[0]
    lines = [line for line in text.splitlines() if line.startswith(kept)]
    return "\n".join([exponential, *sorted(lines, key=lambda line: not line.startswith("#"))])


class Compiler:
    def __init__(self, clang, ptxas, kernels, scratch):
        self.clang, self.ptxas, self.kernels, self.scratch = clang, ptxas, kernels, scratch
        resources = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
        self.builtins = Path(resources) / "include/opencl-c.h"

    def ptx(self, source, options):
        text = self.scratch / "kernel.cl"
        text.write_text(common(self.kernels) + "\n" + expanded(self.kernels, source).split(ENDS.get(source, "\0"))[0])
        made = self.scratch / "kernel.ptx"
        subprocess.run(
            [self.clang, "-target", "nvptx64-nvidia-nvcl", "-Xclang", "-target-cpu", "-Xclang", "sm_80", "-Xclang", "-target-feature",
             "-Xclang", "+ptx71", "-x", "cl", "-cl-std=CL1.2", "-Dasm=__asm__", "-w", "-include", self.builtins, "-include",
             Path(__file__).parent / "ptx_prelude.cl", "-O3", "-S", "-o", made, *(f"-D{name}={value}" for name, value in options.items()),
             text], check=True, stderr=subprocess.PIPE, text=True)
        return made

    def faults(self, source, options):
        """The registers of the kernel, and what is wrong with it."""
        ptx = self.ptx(source, options)
        text = ptx.read_text()
        said = subprocess.run([self.ptxas, "-v", "-arch=sm_90", "-o", self.scratch / "kernel.cubin", ptx], check=True,
                              stderr=subprocess.PIPE, text=True).stderr
        found = []
        if re.search(r"\b[1-9]\d* bytes spill (?:stores|loads)", said):
            found.append("registers are spilled: " + said)
        if re.search(r"\b(?:ld|st)\.local", text):
            found.append("an array is in local memory")
        if "TOKENS" in options and not re.search(r"ld\.global(?:\.nc)?\.v4\.[fu]32", text):
            found.append("no load of 16 bytes")
        if "TOKENS" not in options and "act8" not in source and "ld.shared.v4.f32" not in text:
            found.append("no load of a vector from local memory")
        if options.get("HAS_PACKED_DOT") == 2 and "dp4a" not in text:
            found.append("no dp4a")
        if options.get("MATRIX_UNITS") == 1 and "mma.sync" not in text:
            found.append("no mma")
        return max(map(int, re.findall(r"Used (\d+) registers", said))), found


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kernels", type=Path, help="the folder kernels/")
    parser.add_argument("-v", dest="verbose", action="store_true", help="print the registers of each variant")
    options = parser.parse_args(words)
    clang, ptxas = shutil.which("clang"), os.environ.get("TANDEM_PTXAS") or shutil.which("ptxas")
    if not clang or not ptxas:
        # The runner of the tests knows this line of GoogleTest.
        print("skipped: " + ("clang" if not clang else "ptxas") + " is not here\n[  SKIPPED ] Ptx")
        return 0
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        compiler = Compiler(clang, ptxas, options.kernels, Path(scratch))
        for source, chosen in variants():
            name = source + " " + " ".join(f"{key}={value}" for key, value in chosen.items())
            try:
                registers, faults = compiler.faults(source, chosen)
            except subprocess.CalledProcessError as error:
                registers, faults = 0, [error.stderr]
            if options.verbose:
                print(f"{registers:4} registers  {name}")
            for fault in faults:
                print(f"{name}: {fault}")
            wrong += bool(faults)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
