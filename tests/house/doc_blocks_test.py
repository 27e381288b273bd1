"""Tests of tests/house/doc_blocks.py."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import doc_blocks  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]


class Blocks(unittest.TestCase):
    def test_stand_behind_a_blank_line_with_or_without_a_mark(self):
        text = "Say\n\n    tandem run\n      -m x\n\n    more\n\n<!-- not run: it is long -->\n\n    sudo rm\n\n- a\n    not code\n"
        self.assertEqual(doc_blocks.blocks_of(text),
                         [(3, None, "tandem run\n  -m x\n\nmore"), (10, "it is long", "sudo rm")])

    def test_may_stand_between_fences(self):
        self.assertEqual(doc_blocks.blocks_of("```\ncurl x\n```\n\n    tandem y\n"), [(1, None, "curl x"), (5, None, "tandem y")])

    def test_are_missed_behind_a_mark(self):
        for text in ("<!-- not run: why -->\n\nwords\n", "<!-- not run: why -->\n"):
            self.assertEqual(doc_blocks.blocks_of(text), [(1, "why", "")])

    def test_have_a_kind_if_they_can_be_run(self):
        for code, kind in (("build/tandem run -m x  # words\n# more\ntandem \\\n  devices", "shell"), ("./dev test", None),
                           ("tandem run -m x\nrm -r y", None), ('{"prompt": "x"}', "json"), ("import tandem\ntandem.devices()", "python"),
                           ("T = min(a, b)", None), ("route ── sum", None), ("# only words", None), ("acc = fma(w, x)", None)):
            self.assertEqual(doc_blocks.kind_of(code), kind, code)


class Pages(unittest.TestCase):
    def problems(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "README.md").write_text("# x\n")
            (root / "docs" / "page.md").write_text(text)
            return list(doc_blocks.problems_of(folder))

    def test_have_no_block_that_is_neither_run_nor_marked(self):
        self.assertEqual(self.problems("x\n\n    tandem devices\n\n<!-- not run: a formula -->\n\n    T = 3\n"), [])
        self.assertEqual(self.problems("x\n\n    ./dev test\n"), ["docs/page.md:3: a block that is not run has no mark: ./dev test"])
        self.assertEqual(self.problems("x\n\n<!-- not run: it is long -->\n"), ["docs/page.md:3: a mark has no block behind it"])
        self.assertEqual(len(self.problems("x\n\n<!-- not run: -->\n\n    ./dev test\n")), 1)


class Runs(unittest.TestCase):
    """A program that stands for tandem says what it is asked, and fails for one word."""

    def run_page(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "README.md").write_text(text)
            (root / "tests/data/tiny-models").mkdir(parents=True)
            (root / doc_blocks.TINY).symlink_to(ROOT / doc_blocks.TINY)
            program = root / "program"
            program.write_text('#!/bin/sh\necho "$TANDEM_DEVICE:$*"\ncase "$*" in *fail*) exit 1 ;; esac\n')
            program.chmod(0o755)
            return subprocess.run([sys.executable, "-B", str(ROOT / "tests/house/doc_blocks.py"), folder, str(program),
                                   str(root / "scratch")], capture_output=True, text=True)

    def test_fail_with_what_a_command_said(self):
        said = self.run_page("x\n\n    tandem run\n    tandem fail --device npu:0\n\nx\n\n    build/tandem plan\n")
        self.assertEqual(said.returncode, 1)
        self.assertIn("README.md:3: tandem fail --device npu:0: status 1\n:fail --device npu:0\n", said.stdout)
        self.assertIn("3 commands and blocks ran, 1 failed", said.stdout)

    def test_pass_if_all_commands_do_and_say_what_was_left_out(self):
        said = self.run_page('x\n\n    tandem run\n\nx\n\n    import tandem\n    tandem.devices()\n\nx\n\n    {"prompt": "x"}\n')
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertIn("left out: README.md:7: the Python package is not built", said.stdout)
        self.assertIn("2 commands and blocks ran, 0 failed", said.stdout)

    def test_without_a_command_prove_nothing(self):
        self.assertEqual(self.run_page("# x\n").returncode, 1)

    def test_put_small_files_and_short_measurements_in_the_place_of_long_ones(self):
        runs = doc_blocks.Runs.__new__(doc_blocks.Runs)
        for command, run in (("tandem make-random --shape llama-3.2-1b --type Q4_0 -o x", "tandem make-random --shape MODEL.gguf --type Q4_0 -o x"),
                             ("tandem run -m MODEL.gguf --host-budget 2GiB", "tandem run -m MIXTURE.gguf --host-budget 2GiB"),
                             ("tandem bench-sync --json", "tandem bench-sync --device host --sizes 0,10us --policies blocking,predict --rounds 10 --json"),
                             ("tandem run -m MODEL.gguf", "tandem run -m MODEL.gguf")):
            self.assertEqual(runs.adapted(command), run)

    def test_have_a_model_with_a_chat_template(self):
        with tempfile.TemporaryDirectory() as folder:
            to = pathlib.Path(folder, "x.gguf")
            doc_blocks.with_template(ROOT / doc_blocks.TINY, to)
            before, after = (ROOT / doc_blocks.TINY).read_bytes(), to.read_bytes()
        self.assertIn(b"tokenizer.chat_template", after)
        self.assertEqual(after[-100_000:], before[-100_000:])
        self.assertEqual(int.from_bytes(after[16:24], "little"), int.from_bytes(before[16:24], "little") + 1)


if __name__ == "__main__":
    unittest.main()
