"""shaders/compiled/compile.py notices sources and modules that do not belong together."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shaders" / "compiled"))
import compile as compiled


class CompiledShaders(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name)
        (self.folder / "compiled").mkdir()
        self.source = self.folder / "a.comp"
        self.source.write_text('// compiled kernels: x y\n#include "b.glsl"\nvoid main() {}\n')
        (self.folder / "b.glsl").write_text("int b;  // a number\n")
        (self.folder / "other.comp").write_text("void main() {}\n")
        for kernel in "xy":
            (self.folder / "compiled" / f"{kernel}.spv").write_bytes(kernel.encode())
        (self.folder / "compiled" / "sources.txt").write_text(compiled.record(self.folder))

    def tearDown(self):
        self.scratch.cleanup()

    def status(self):
        with contextlib.redirect_stderr(io.StringIO()):
            return compiled.main(["--check", str(self.folder)])

    def test_every_listed_kernel_has_a_line(self):
        self.assertEqual([line.split()[0] for line in compiled.record(self.folder).splitlines()], ["x", "y"])
        self.assertEqual(self.status(), 0)

    def test_comments_may_change(self):
        (self.folder / "b.glsl").write_text("// It counts.\nint b;\n\n")
        self.assertEqual(self.status(), 0)

    def test_code_of_an_included_file_may_not_change(self):
        (self.folder / "b.glsl").write_text("uint b;\n")
        self.assertEqual(self.status(), 1)

    def test_a_module_may_not_change_or_be_gone(self):
        (self.folder / "compiled" / "x.spv").write_bytes(b"z")
        self.assertEqual(self.status(), 1)
        (self.folder / "compiled" / "x.spv").unlink()
        self.assertEqual(self.status(), 1)

    def test_a_new_kernel_must_be_compiled(self):
        self.source.write_text(self.source.read_text().replace("x y", "x y z"))
        self.assertEqual(self.status(), 1)

    def test_wrong_usage_is_status_2(self):
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(compiled.main([]), 2)


class CompiledShadersOfThisTree(unittest.TestCase):
    def test_they_belong_to_their_sources(self):
        self.assertEqual(compiled.main(["--check"]), 0)


if __name__ == "__main__":
    unittest.main()
