"""Reading the programs' output."""

import json
import os
import tempfile
import unittest
from unittest import mock

import figures
import programs
from figures import Test
from processes import Failed, Finished


class Rates(unittest.TestCase):
    rows = json.dumps([{"n_prompt": 256, "n_gen": 0, "avg_ts": 479.5},
                       {"n_prompt": 0, "n_gen": 32, "n_depth": 1024, "avg_ts": 144.0}])

    def test_the_row_of_the_test_is_taken(self):
        self.assertEqual(programs.rate_in(self.rows, Test(256, 0), "tandem bench"), 479.5)
        self.assertEqual(programs.rate_in(self.rows, Test(0, 32, 1024), "tandem bench"), 144.0)

    def test_a_row_of_another_depth_is_not_that_test(self):
        with self.assertRaisesRegex(Failed, "tg32"):
            programs.rate_in(self.rows, Test(0, 32), "tandem bench")

    def test_what_is_no_json_is_an_error(self):
        with self.assertRaisesRegex(Failed, "llama-bench printed no JSON"):
            programs.rate_in("oops", Test(256, 0), "llama-bench")


class Shares(unittest.TestCase):
    def test_decode_is_measured_by_dram_and_prefill_by_arithmetic(self):
        rows = [{"n_prompt": 256, "n_gen": 0, "gbps": 5, "dram_read_gbps": 40, "gflops": 400, "fma_peak_gflops": 500},
                {"n_prompt": 0, "n_gen": 64, "gbps": 36, "dram_read_gbps": 40, "gflops": 90, "fma_peak_gflops": 500}]
        prefill, decode = programs.shares_in(json.dumps(rows), figures.SHARE_TARGET)
        self.assertEqual((prefill.quotient, prefill.verdict), (0.8, figures.MISSED))
        self.assertEqual((decode.quotient, decode.verdict), (0.9, figures.MET))

    def test_a_device_elsewhere_is_not_judged_by_the_cores_limits(self):
        row = {"n_prompt": 0, "n_gen": 64, "gbps": 90, "dram_read_gbps": 40, "dram_share": None, "fma_share": None}
        (share,) = programs.shares_in(json.dumps([row]), figures.SHARE_TARGET)
        self.assertEqual(share.verdict, figures.OTHER_LIMIT)

    def test_prefill_of_integers_is_set_against_their_peak_without_a_verdict(self):
        row = {"n_prompt": 256, "n_gen": 0, "gbps": 5, "dram_read_gbps": 40, "gflops": 700, "fma_peak_gflops": 500,
               "int8_peak_gops": 1000}
        (share,) = programs.shares_in(json.dumps([row]), figures.SHARE_TARGET)
        self.assertEqual((share.name, share.quotient, share.verdict), ("pp256 of int8 peak", 0.7, figures.NO_TARGET))

    def test_a_missing_figure_is_an_error(self):
        with self.assertRaisesRegex(Failed, "dram_read_gbps"):
            programs.shares_in(json.dumps([{"n_prompt": 0, "n_gen": 64, "gbps": 36}]), figures.SHARE_TARGET)


class Positions(unittest.TestCase):
    def test_they_are_the_prompt_and_what_was_generated(self):
        messages = "note: something\n\nprompt 4 tokens, 30.4 tokens/s; generated 16 tokens, 7.5 tokens/s (measured)\n"
        self.assertEqual(programs.positions_in(messages), 20)

    def test_a_run_that_does_not_say_so_is_an_error(self):
        with self.assertRaisesRegex(Failed, "how many tokens"):
            programs.positions_in("")


class Handshake(unittest.TestCase):
    def test_it_is_the_round_trip_and_the_mean_of_its_middle_half(self):
        limit = {"round_trip": {"p50_us": 0.08, "middle_us": 0.0841}, "before_us": 0.084, "after_us": 0.0842}
        self.assertEqual(programs.handshake_in(json.dumps({"devices": [{"limit": limit}]})), 0.0841)

    def test_there_may_be_none(self):
        self.assertIsNone(programs.handshake_in(json.dumps({"devices": [{"limit": None, "no_limit": "one core"}]})))


class TandemProgram(unittest.TestCase):
    def tandem(self, help_text, act=None):
        with mock.patch.object(programs.processes, "run", return_value=Finished(0.1, 1, help_text, "")):
            return programs.Tandem("tandem", 10, act)

    def test_activations_are_named_to_every_run_where_they_are_chosen(self):
        rows = json.dumps([{"n_prompt": 64, "n_gen": 0, "avg_ts": 1.0}])
        for act, given in ((None, False), ("i8", True)):
            tandem = self.tandem("", act)
            with mock.patch.object(programs.processes, "run", return_value=Finished(0.1, 1, rows, "")) as run:
                tandem.rate("m.gguf", Test(64, 0))
                tandem.complete("m.gguf", "x", 1)
            for call in run.call_args_list:
                self.assertEqual("--act i8" in " ".join(call.args[0]), given)

    def test_a_flag_is_there_when_the_help_names_it(self):
        self.assertTrue(self.tandem("  -d,--n-depth INT ...\n  --roofline  the limits").can_bench("-d"))
        self.assertTrue(self.tandem("  -d,--n-depth INT ...\n  --roofline  the limits").can_bench("--roofline"))

    def test_a_longer_flag_is_another_one(self):
        self.assertFalse(self.tandem("  --device TEXT\n  --roofline-only").can_bench("-d"))


class Paths(unittest.TestCase):
    def test_the_newest_build_is_taken_when_none_was_linked_last(self):
        with tempfile.TemporaryDirectory() as root, mock.patch.object(programs, "_ROOT", root):
            self.assertIsNone(programs.find_tandem(None))
            for age, preset in ((100, "debug"), (0, "release"), (50, "asan")):
                path = os.path.join(root, "build", preset, "tandem")
                os.makedirs(os.path.dirname(path))
                open(path, "w", encoding="ascii").close()
                os.chmod(path, 0o755)
                os.utime(path, (10**9 - age, 10**9 - age))
            self.assertEqual(programs.find_tandem(None), os.path.join(root, "build", "release", "tandem"))
            os.symlink("debug/tandem", os.path.join(root, "build", "tandem"))
            self.assertEqual(programs.find_tandem(None), os.path.join(root, "build", "tandem"))
            self.assertEqual(programs.find_tandem("given"), "given")


if __name__ == "__main__":
    unittest.main()
