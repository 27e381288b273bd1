"""The runner on a GoogleTest program whose tests crash, hang, fail, skip and break its end (toy.cpp)."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from pathlib import Path
from xml.etree import ElementTree

import run as runner
from batches import Batch, batches
from listing import ListingError, read_test
from outcomes import run

TOY = sys.argv.pop()


def toy(inside, seconds=60):
    properties = [{"name": "TIMEOUT", "value": seconds}, {"name": "WORKING_DIRECTORY", "value": "/"}]
    return read_test({"name": f"toy/{inside}", "command": [TOY, f"--gtest_filter={inside}", "--gtest_also_run_disabled_tests"],
                      "properties": properties}, 0)


def results_of(*names, seconds=60, most_bytes=None):
    """The last result of each test of one batch."""
    results = run(Batch(tuple(toy(name, seconds) for name in names)), threading.Event(), most_bytes)
    return {result.test.inside: result for result in results}


def states(results):
    return {name: result.state for name, result in results.items()}


class ABatch(unittest.TestCase):
    def test_has_a_result_and_the_output_of_every_test(self):
        results = results_of("Toy.passes", "Toy.fails", "Toy.is_skipped", "Toy.says_half_a_line", "Toy.passes_behind_the_crash")
        self.assertEqual(states(results), {"Toy.passes": "passed", "Toy.fails": "failed", "Toy.is_skipped": "skipped",
                                           "Toy.says_half_a_line": "passed", "Toy.passes_behind_the_crash": "passed"})
        self.assertIn("passes says this", results["Toy.passes"].output)
        self.assertIn("three is not four", results["Toy.fails"].output)
        self.assertNotIn("three is not four", results["Toy.passes"].output + results["Toy.is_skipped"].output)

    def test_names_the_test_that_crashed_and_runs_those_behind_it(self):
        results = results_of("Toy.passes", "Toy.crashes", "Toy.passes_behind_the_crash", "Toy.fails")
        self.assertEqual(states(results), {"Toy.passes": "passed", "Toy.crashes": "failed", "Toy.passes_behind_the_crash": "passed",
                                           "Toy.fails": "failed"})
        self.assertEqual(results["Toy.crashes"].why, "ended by signal 9")

    def test_names_the_test_that_hangs_and_runs_those_behind_it(self):
        results = results_of("Toy.passes", "Toy.hangs", "Toy.passes_behind_the_hang", seconds=2)
        self.assertEqual(states(results), {"Toy.passes": "passed", "Toy.hangs": "failed", "Toy.passes_behind_the_hang": "passed"})
        self.assertEqual(results["Toy.hangs"].why, "no end within 2 s")
        self.assertIn("hangs says this", results["Toy.hangs"].output)

    def test_goes_on_in_another_process_where_one_takes_much_memory(self):
        names = ("Toy.passes", "Toy.keeps_much_memory", "Toy.has_little_memory", "Toy.has_little_memory_too")
        self.assertEqual(states(results_of(*names, most_bytes=200 << 20)), dict.fromkeys(names, "passed"))
        self.assertEqual(states(results_of(*names))["Toy.has_little_memory"], "failed")

    def test_has_a_bound_of_memory_but_under_sanitizers(self):
        with tempfile.TemporaryDirectory() as build:
            cache = Path(build, "CMakeCache.txt")
            self.assertGreater(runner.most_bytes_of(build, 2), 0)
            cache.write_text("TANDEM_SANITIZE:STRING=\n")
            self.assertGreater(runner.most_bytes_of(build, 1), runner.most_bytes_of(build, 100))
            cache.write_text("TANDEM_SANITIZE:STRING=address,undefined\n")
            self.assertIsNone(runner.most_bytes_of(build, 2))

    def test_fails_a_test_that_ends_the_program_with_status_0(self):
        results = results_of("Toy.ends_the_program", "Toy.leaves_a_child", "Toy.passes")
        self.assertEqual(states(results), {"Toy.ends_the_program": "failed", "Toy.leaves_a_child": "passed", "Toy.passes": "passed"})

    def test_names_the_test_behind_which_the_program_ends_badly(self):
        results = results_of("Toy.passes", "Toy.breaks_the_end", "Toy.passes_behind_the_hang")
        self.assertEqual(states(results), {"Toy.passes": "passed", "Toy.breaks_the_end": "failed", "Toy.passes_behind_the_hang": "passed"})
        self.assertEqual(results["Toy.breaks_the_end"].why, "ended with status 3")

    def test_fails_where_only_all_of_them_together_end_badly(self):
        results = results_of("Pair.is_fine", "Pair.is_fine_alone")
        self.assertEqual(states(results), {"Pair.is_fine": "passed", "Pair.is_fine_alone": "failed"})
        self.assertIn("ended with status 4", results["Pair.is_fine_alone"].why)

    def test_understands_tests_with_parameters(self):
        self.assertEqual(states(results_of("Of/Numbers.are_even/0", "Of/Numbers.are_even/1")),
                         {"Of/Numbers.are_even/0": "passed", "Of/Numbers.are_even/1": "failed"})

    def test_of_tests_that_are_not_there_fails(self):
        self.assertEqual(states(results_of("Toy.is_gone", "Toy.passes", "Toy.is_gone_too")),
                         {"Toy.is_gone": "failed", "Toy.passes": "passed", "Toy.is_gone_too": "failed"})


class AloneInAProcess(unittest.TestCase):
    def test_every_kind_of_end_is_the_same(self):
        for name, state in {"Toy.passes": "passed", "Toy.fails": "failed", "Toy.is_skipped": "skipped", "Toy.crashes": "failed",
                            "Toy.ends_the_program": "failed", "Toy.breaks_the_end": "failed", "Toy.leaves_a_child": "passed",
                            "Of/Numbers.are_even/1": "failed", "Toy.is_gone": "failed"}.items():
            with self.subTest(name):
                self.assertEqual(states(results_of(name)), {name: state})
        self.assertEqual(results_of("Toy.hangs", seconds=1)["Toy.hangs"].why, "no end within 1 s")

    def test_a_command_that_cannot_be_started_has_failed(self):
        test = read_test({"name": "gone", "command": ["/nowhere/program"]}, 0)
        self.assertEqual([each.state for each in run(Batch((test,)), threading.Event())], ["failed"])
        unbuilt = read_test({"name": "toy_NOT_BUILT"}, 0)
        self.assertEqual([each.why for each in run(Batch((unbuilt,)), threading.Event())], ["its program was not built"])


class Batches(unittest.TestCase):
    def test_join_what_shares_program_lock_folder_and_environment(self):
        def test(name, program, *properties):
            return read_test({"name": name, "command": [program, f"--gtest_filter={name}"],
                              "properties": [{"name": key, "value": value} for key, value in properties]}, 0)
        tests = [test("a", "one"), test("b", "two"), test("c", "one"), test("d", "one", ("RESOURCE_LOCK", ["cores"]), ("COST", 9)),
                 test("e", "one", ("ENVIRONMENT", ["A=B"])), read_test({"name": "script", "command": ["bash", "-c", "true"]}, 0)]
        self.assertEqual([[each.name for each in batch.tests] for batch in batches(tests)],
                         [["d"], ["a", "c"], ["script"], ["e"], ["b"]])
        self.assertTrue(all(len(batch.tests) == 1 for batch in batches(tests, alone=True)))

    def test_of_one_lock_are_never_begun_beside_each_other(self):
        locked = [Batch((read_test({"name": name, "command": ["x"], "properties": [{"name": "RESOURCE_LOCK", "value": ["cores"]}]}, 0),))
                  for name in "ab"]
        free = Batch((read_test({"name": "c", "command": ["x"]}, 0),))
        waiting, held = [*locked, free], set()
        self.assertEqual(runner.begin_possible(waiting, held, 3), [locked[0], free])
        self.assertEqual(runner.begin_possible(waiting, held, 3), [])
        held.clear()
        self.assertEqual(runner.begin_possible(waiting, held, 3), [locked[1]])

    def test_of_a_property_that_nothing_is_done_about_are_an_error(self):
        with self.assertRaises(ListingError):
            read_test({"name": "a", "command": ["x"], "properties": [{"name": "RUN_SERIAL", "value": True}]}, 0)
        with self.assertRaises(ListingError):
            read_test({"name": "a", "command": ["x"], "properties": [{"name": "ENVIRONMENT_MODIFICATION", "value": ["A=unset:"]}]}, 0)


class TheWhole(unittest.TestCase):
    """The runner on a build folder with a few tests."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)

    def write_tests(self, *names, more=""):
        lines = [f'add_test("toy/{name}" "{TOY}" "--gtest_filter={name}")' for name in names]
        (self.folder / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n" + more)

    def run_all(self, *flags):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = runner.main([str(self.folder), "--junit", str(self.folder / "junit.xml"), "--jobs", "2", *flags])
        return status, out.getvalue()

    def test_counts_tests_and_writes_what_ctest_would(self):
        self.write_tests("Toy.passes", "Toy.crashes", "Toy.is_skipped", "Toy.passes_behind_the_hang")
        status, output = self.run_all()
        self.assertEqual(status, 1)
        self.assertIn("toy/Toy.crashes: ended by signal 9", output)
        cases = {case.get("name"): case for case in ElementTree.parse(self.folder / "junit.xml").getroot()}
        self.assertEqual({name: case.get("status") for name, case in cases.items()},
                         {"toy/Toy.passes": "run", "toy/Toy.crashes": "fail", "toy/Toy.is_skipped": "notrun",
                          "toy/Toy.passes_behind_the_hang": "run"})
        self.assertIn("never here", cases["toy/Toy.is_skipped"].find("system-out").text)
        self.assertEqual(cases["toy/Toy.is_skipped"].find("skipped").get("message"), "SKIP_REGULAR_EXPRESSION_MATCHED")

    def test_names_are_quoted_as_ctest_quotes_them(self):
        self.write_tests(more="""add_test([[say "a" & 'b']] "true")\n""")
        self.assertEqual(self.run_all()[0], 0)
        self.assertIn("""<testcase name="say &quot;a&quot; &amp; 'b'" """, (self.folder / "junit.xml").read_text())

    def test_takes_names_and_the_status_says_whether_all_passed(self):
        self.write_tests("Toy.passes", "Toy.fails", "Toy.passes_behind_the_hang")
        self.assertEqual(self.run_all("-R", "passes")[0], 0)
        status, output = self.run_all("-E", "fails")
        self.assertEqual(status, 0)
        self.assertTrue(output.endswith("left out: 1 of 3 tests: Toy (1)\n"), output)
        self.assertEqual(self.run_all()[0], 1)
        self.assertEqual(self.run_all("--alone")[0], 1)
        status, output = self.run_all("-R", "no such name")
        self.assertEqual((status, output), (1, "no test has such a name\n"))

    def test_takes_environment_and_forbidden_output_from_the_list(self):
        more = """add_test(plain "bash" "-c" "echo A is $A, B is $B")
set_tests_properties(plain PROPERTIES ENVIRONMENT "A=x" ENVIRONMENT_MODIFICATION "B=path_list_append:y" FAIL_REGULAR_EXPRESSION "A is x, B is z:y")
"""
        self.write_tests(more=more)
        with unittest.mock.patch.dict(os.environ, B="z"):
            self.assertEqual(self.run_all()[0], 1)
        with unittest.mock.patch.dict(os.environ, B="other"):
            self.assertEqual(self.run_all()[0], 0)

    def test_ends_what_it_started_when_it_is_interrupted(self):
        self.write_tests("Toy.hangs", "Toy.passes_behind_the_hang")
        command = [sys.executable, "-B", runner.__file__, str(self.folder), "--junit", str(self.folder / "junit.xml")]
        tool = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        hanging = self.wait_for_child_of(tool.pid)
        tool.terminate()
        tool.communicate(timeout=60)
        self.assertEqual(tool.returncode, 130)
        self.assertFalse(Path(f"/proc/{hanging}").exists())

    @staticmethod
    def wait_for_child_of(pid):
        while True:
            for stat in Path("/proc").glob("[0-9]*/stat"):
                with contextlib.suppress(OSError):
                    name, _, rest = stat.read_text().rpartition(") ")
                    if rest.split()[1] == str(pid) and "(" + Path(TOY).name[:15] in name:
                        return stat.parent.name


if __name__ == "__main__":
    unittest.main()
