"""./dev mutate on a toy tree with one library, one test program and mutations of every kind."""

import contextlib
import difflib
import functools
import io
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import mutate
from mutation import MutationError, matching, read_mutation, table

TOOL = Path(mutate.__file__)

FILES = {
    "CMakePresets.json": """{"version": 6, "configurePresets": [
        {"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}""",
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(GTest REQUIRED)
add_library(toy STATIC toy.cpp)
add_executable(toy_test toy_test.cpp)
target_link_libraries(toy_test PRIVATE toy GTest::gtest_main)
""",
    "toy.cpp": """int twice(int x) {
  return x + x;
}
int half(int x) {
  return x / 2;
}
""",
    "toy_test.cpp": """#include <gtest/gtest.h>
int twice(int x);
int half(int x);
TEST(Toy, doubles) { EXPECT_EQ(twice(3), 6); }
TEST(Toy, halves) { EXPECT_EQ(half(0), 0); }
TEST(Toy, is_skipped) { GTEST_SKIP() << "never here"; }
TEST(Toy, is_red) { FAIL(); }
""",
    "build/kept.txt": "not copied",
}


def patch(mistake, killers, old, new, of=FILES["toy.cpp"]):
    diff = difflib.unified_diff(of.splitlines(True), of.replace(old, new).splitlines(True), "a/toy.cpp", "b/toy.cpp")
    return f"Mistake: {mistake}\n" + "".join(f"Killed by: {killer}\n" for killer in killers) + "\n" + "".join(diff)


TWICE, HALF = "return x + x;", "return x / 2;"
OLDER = FILES["toy.cpp"].replace(TWICE, "return 2 * x;")
PATCHES = {
    "dies": patch("Doubling forgets one.", ["toy_test Toy.doubles"], TWICE, "return x;"),
    "crashes": patch("Doubling aborts.", ["toy_test Toy.doubles"], TWICE, "__builtin_trap();"),
    "survives": patch("Halving quarters.", ["toy_test Toy.halves"], HALF, "return x / 4;"),
    "half_seen": patch("Doubling forgets one.", ["toy_test Toy.doubles:Toy.halves"], TWICE, "return x;"),
    "moved_on": patch("Of an older tree.", ["toy_test Toy.doubles"], "return 2 * x;", "return x;", OLDER),
    "breaks": patch("No C++.", ["toy_test Toy.doubles"], TWICE, "return;"),
    "unnamed": patch("No such test.", ["toy_test Toy.triples"], TWICE, "return x;"),
    "skipped": patch("Its test is skipped.", ["toy_test Toy.is_skipped"], TWICE, "return x;"),
    "red": patch("Its test is red anyway.", ["toy_test Toy.is_red"], TWICE, "return x;"),
}


def make_tree(folder):
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "tests" / "mutations").mkdir(parents=True)
    for name, text in PATCHES.items():
        (folder / "tests" / "mutations" / f"{name}.patch").write_text(text)


def run(tree, *names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = mutate.main(["--tree", str(tree), *names])
    return status, out.getvalue()


class OnAToyTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.tree = Path(cls.place.name) / "toy"
        make_tree(cls.tree)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def expect_line(self, output, verdict, name, why=""):
        lines = output.splitlines()
        at = [i for i, line in enumerate(lines) if line.split()[:1] == [verdict] and line.endswith(" " + name)]
        self.assertEqual(len(at), 1, output)
        if why:
            self.assertIn(why, lines[at[0] + 1])

    def test_all_are_judged_and_the_score_says_so(self):
        status, output = run(self.tree)
        self.expect_line(output, "killed", "dies")
        self.expect_line(output, "killed", "crashes")
        self.expect_line(output, "survived", "survives", "Toy.halves")
        self.expect_line(output, "survived", "half_seen", "green: Toy.halves")
        self.expect_line(output, "error", "moved_on", "no longer applies")
        self.expect_line(output, "error", "breaks", "the build failed")
        self.expect_line(output, "error", "unnamed", "there is no such test")
        self.expect_line(output, "error", "skipped", "skipped here")
        self.expect_line(output, "error", "red", "red without the mutation")
        self.assertIn("2 of 9 killed, 2 survived, 5 not judged", output)
        self.assertEqual(status, 2)
        self.assertEqual((self.tree / "toy.cpp").read_text(), FILES["toy.cpp"], "the working tree is not touched")
        copy = self.tree / "build" / "mutate"
        self.assertEqual((copy / "toy.cpp").read_text(), FILES["toy.cpp"], "the copy is put right again")
        self.assertFalse((copy / "build" / "kept.txt").exists())

    def test_the_status_tells_killed_from_survived_from_errors(self):
        self.assertEqual(run(self.tree, "dies")[0], 0)
        self.assertEqual(run(self.tree, "dies", "survives")[0], 1)
        self.assertEqual(run(self.tree, "dies", "unnamed")[0], 2)
        status, output = run(self.tree, "dance")
        self.assertEqual(status, 2)
        self.assertIn("there is no mutation dance", output)

    def test_what_changes_in_the_working_tree_is_what_is_mutated(self):
        test = self.tree / "toy_test.cpp"
        try:
            test.write_text(FILES["toy_test.cpp"].replace("half(0), 0", "half(8), 4"))
            self.assertEqual(run(self.tree, "survives")[0], 0, "the new test notices")
        finally:
            test.write_text(FILES["toy_test.cpp"])
        self.assertEqual(run(self.tree, "survives")[0], 1)

    def test_a_copy_left_broken_is_put_right(self):
        run(self.tree, "dies")
        copy = self.tree / "build" / "mutate"
        (copy / "toy.cpp").write_text("what an interrupted run left")
        (copy / "stray.cpp").write_text("no longer in the tree")
        self.assertEqual(run(self.tree, "dies")[0], 0)
        self.assertFalse((copy / "stray.cpp").exists())

    def test_ctrl_c_ends_it_with_status_130_and_the_next_run_works(self):
        command = [sys.executable, "-B", str(TOOL), "--tree", str(self.tree)]
        listens = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # shells' background jobs ignore it
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=listens)
        first = [process.stdout.readline() for _ in range(2)][-1]  # a verdict or a red test: the tool is at work
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=120)[0]
        self.assertEqual(process.returncode, 130, first + rest)
        self.assertIn("interrupted", rest)
        self.assertEqual(run(self.tree, "dies")[0], 0)

    def test_check_looks_only_whether_patches_apply(self):
        status, output = run(self.tree, "--check")
        self.assertEqual(status, 2)
        self.assertIn("moved_on: the patch no longer applies", output)
        self.assertIn("8 of 9 patches apply", output)


class Headers(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "one.patch"
            path.write_text(text)
            return read_mutation(path)

    def test_name_the_mistake_the_tests_and_the_files(self):
        one = self.read(patch("It forgets.", ["a_test A.x:A.y", "b_test B.z/*"], TWICE, "return x;"))
        self.assertEqual(one.mistake, "It forgets.")
        self.assertEqual(one.programs, ("a_test", "b_test"))
        self.assertEqual(one.patterns_of("a_test"), ["A.x", "A.y"])
        self.assertEqual(one.files, ("toy.cpp",))
        self.assertIn("| one | It forgets. | `toy.cpp` | `A.x`, `A.y`, `B.z/*` |", table([one]))

    def test_that_miss_something_are_errors(self):
        whole = patch("It forgets.", ["a_test A.x"], TWICE, "return x;")
        for broken in [whole.replace("Mistake", "Error"), whole.replace("forgets.", "forgets"),
                       whole.replace("Killed by: a_test A.x\n", ""), whole.partition("--- ")[0]]:
            with self.assertRaises(MutationError):
                self.read(broken)

    def test_patterns_match_as_a_googletest_filter_does(self):
        names = ["A/B.c/0", "A/B.c/1", "B.c"]
        self.assertEqual(matching(names, "A/B.c/*"), names[:2])
        self.assertEqual(matching(names, "B.c"), ["B.c"])


if __name__ == "__main__":
    unittest.main()
