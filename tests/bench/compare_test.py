"""The command itself, with stand-ins for both programs."""

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

import compare
import figures
import processes
import programs


class StandIn:
    """A program with a fixed speed, start-up time and size."""

    name = "stand-in"

    def __init__(self, rate, seconds=1.0, peak_bytes=100_000_000, handshake_us=0.085, flags=("-d", "--roofline")):
        self.speed, self.finished = rate, processes.Finished(
            seconds, peak_bytes, "", "prompt 4 tokens, 66.8 tokens/s; generated 16 tokens, 17.8 tokens/s (measured)")
        self.handshake, self.flags = handshake_us, flags

    def rate(self, model, test):
        return self.speed

    def complete(self, model, prompt, count, *more):
        return self.finished

    def can_bench(self, flag):
        return flag in self.flags

    def shares(self, model, prefill, decode):
        return [figures.Share("tg64 of DRAM read", 36.0, 40.0, "GB/s", figures.SHARE_TARGET, figures.MET)]

    def kv_cache_bytes(self, model, positions):
        return 100_000 * positions

    def weight_bytes(self, model):
        return 78_000_000

    def handshake_us(self):
        return self.handshake


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = os.path.join(self.folder.name, "tiny.Q4_1.gguf")
        with open(self.model, "wb") as file:
            file.write(b"x" * 1000)

    def compare(self, peer, tandem, *arguments, cores=2):
        """Runs the command with stand-ins for both programs and returns (status, report)."""
        printed = io.StringIO()
        stand_ins = (mock.patch.object(programs, "Peer", return_value=peer),
                     mock.patch.object(programs, "Tandem", return_value=tandem),
                     mock.patch.object(programs, "variants", return_value={"Q4_1": self.model, "F16": self.model}),
                     mock.patch.object(compare.os, "sched_getaffinity", return_value=set(range(cores))),
                     mock.patch.object(compare.os, "sched_setaffinity"),
                     mock.patch.object(compare.signal, "signal"),
                     contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()))
        with contextlib.ExitStack() as stack:
            for stand_in in stand_ins:
                stack.enter_context(stand_in)
            try:
                status = compare.main([self.model, "--tandem", sys.executable, *arguments])
            except SystemExit as end:
                status = end.code
        return status, printed.getvalue()

    def test_the_status_is_0_when_every_target_is_met(self):
        status, text = self.compare(StandIn(100), StandIn(500), "--pairs", "2")
        self.assertEqual(status, 0, text)
        self.assertIn("## Q4_1", text)
        self.assertIn("## F16", text)
        # Each of two types has five tests, the start and a share. The memory has no target here.
        self.assertIn("14 met, 0 missed, 0 not judged.", text)

    def test_the_peak_is_set_beside_weights_and_the_positions_that_were_filled(self):
        _, text = self.compare(StandIn(100), StandIn(500), "--pairs", "2", "--types", "F16")
        # 78 MB and 20 positions of 0.1 MB are 80 MB. The 2,048 positions that the cache could hold do not count.
        self.assertIn("of weights + touched cache | 100.0 MB | 80.0 MB | 125.0 % | – | no target |", text)

    def test_the_status_is_1_when_one_is_missed(self):
        status, text = self.compare(StandIn(100), StandIn(500, seconds=1.1), "--pairs", "2", "--types", "F16")
        self.assertEqual(status, 1)
        self.assertIn("6 met, 1 missed, 0 not judged.", text)

    def test_one_physical_core_is_neither_met_nor_missed(self):
        status, text = self.compare(StandIn(100), StandIn(10, handshake_us=0.07), "--parts", "speed", "--types", "F16")
        self.assertEqual(status, 0)
        self.assertIn("0 met, 0 missed, 5 not judged.", text)

    def test_without_a_depth_flag_deep_tests_are_left_out_and_said(self):
        status, text = self.compare(StandIn(100), StandIn(500, flags=()), "--types", "F16")
        self.assertEqual(status, 0)
        self.assertIn("tg32@d1024: this tandem bench has no -d", text)
        self.assertIn("no --roofline", text)

    def test_limits_that_fail_are_a_missed_target(self):
        tandem = StandIn(500)
        tandem.shares = mock.Mock(side_effect=processes.Failed("tandem ended with status 1"))
        status, text = self.compare(StandIn(100), tandem, "--parts", "limits", "--types", "F16")
        self.assertEqual(status, 1)
        self.assertIn("0 met, 1 missed, 0 not judged.", text)

    def test_one_core_has_no_ratio_targets(self):
        status, text = self.compare(StandIn(100), StandIn(10), "--cores", "0", "--parts", "speed", "--types", "F16")
        self.assertEqual(status, 0)
        self.assertIn("0 met, 0 missed, 0 not judged.", text)

    def test_beside_a_neighbour_two_tests_have_a_lower_target(self):
        with mock.patch.object(processes, "busy_neighbour", return_value=contextlib.nullcontext()) as neighbour:
            status, text = self.compare(StandIn(100), StandIn(95), "--neighbour", "--types", "F16")
        neighbour.assert_called_once_with(True)
        self.assertEqual(status, 0)
        self.assertIn("2 met, 0 missed, 0 not judged.", text)

    def test_files_hold_the_report_and_every_sample_and_no_path(self):
        json_file, markdown_file = (os.path.join(self.folder.name, name) for name in ("out.json", "out.md"))
        _, text = self.compare(StandIn(100), StandIn(500), "--pairs", "3", "--json", json_file,
                               "--markdown", markdown_file)
        with open(markdown_file, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        with open(json_file, encoding="utf-8") as file:
            content = file.read()
        self.assertEqual(json.loads(content)["types"][0]["speed"][0]["pairs"]["tandem"], [500] * 3)
        self.assertNotIn(self.folder.name, text + content)

    def test_what_was_measured_before_an_interruption_is_kept(self):
        markdown_file = os.path.join(self.folder.name, "out.md")
        tandem = StandIn(500)
        tandem.handshake_us = mock.Mock(side_effect=[0.085, 0.085, KeyboardInterrupt])  # while F16 is measured
        status, _ = self.compare(StandIn(100), tandem, "--pairs", "1", "--markdown", markdown_file)
        self.assertEqual(status, 130)
        with open(markdown_file, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("## Q4_1", text)
        self.assertNotIn("## F16", text)

    def test_wrong_usage_ends_with_2(self):
        for arguments in (["--tests", "fast"], ["--types", "Q2_K"], ["--pairs", "0"], ["--cores", "7"],
                          ["--parts", "everything"], ["--unknown"]):
            status, _ = self.compare(StandIn(1), StandIn(1), *arguments)
            self.assertEqual(status, 2, arguments)


if __name__ == "__main__":
    unittest.main()
