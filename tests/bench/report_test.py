"""The report, from made-up samples."""

import json
import unittest

import figures
import report as reports
from figures import Pairs, Result, Share, Target


def example(handshake_us=(0.085, 0.086), cores=(0, 1), neighbour=False, load=0.01, act=None):
    speed = Result("tg64", "t/s", Pairs([100, 110], [230, 231], (90, 10)), Target(2.1))
    figures.judge_result(speed, figures.why_not_judged(*handshake_us, len(cores)))
    start = Result("start to first token", "s", Pairs([0.5], [0.6]), Target(1.0, at_least=False), figures.MISSED)
    failed = Result("pp256", "t/s", problem="tandem ended with status 1")
    figures.judge_result(failed)
    share = Share("tg64 of DRAM read", 36.0, 40.0, "GB/s", Target(0.85), figures.MET)
    one = reports.TypeReport("Q4_1", "model.gguf", 98_000_000, [speed, failed], [start], [share], ["no shares"],
                             [], handshake_us, load)
    machine = {"processor": "CPU", "cores": list(cores), "cores_of_machine": 2, "system": "Linux", "date": "today",
               "load_average": 0.1}
    settings = {"model": "model.gguf", "pairs": 2, "act": act, "neighbour": neighbour}
    return reports.Report(machine, settings, "llama.cpp", "tandem 0.1.0", [one])


class Markdown(unittest.TestCase):
    def test_a_row_has_medians_the_ratio_with_its_spread_target_and_verdict(self):
        self.assertIn("| tg64 | 105.0 | 230.5 | 2.200 [2.100, 2.300] | ≥ 2.1 | met |", reports.as_markdown(example()))

    def test_a_share_is_printed_in_percent(self):
        self.assertIn("| tg64 of DRAM read | 36.0 GB/s | 40.0 GB/s | 90.0 % | ≥ 85 % | met |",
                      reports.as_markdown(example()))

    def test_one_physical_core_is_not_judged(self):
        text = reports.as_markdown(example(handshake_us=(0.071, 0.072)))
        self.assertIn("| ≥ 2.1 | not judged, one physical core |", text)
        self.assertIn("both virtual cores are one physical core", text)

    def test_readings_that_disagree_are_said(self):
        self.assertIn("they disagree", reports.as_markdown(example(handshake_us=(0.071, 0.085))))

    def test_a_busy_machine_is_said_unless_it_was_wanted(self):
        self.assertNotIn("not a quiet machine", reports.as_markdown(example()))
        self.assertIn("not a quiet machine", reports.as_markdown(example(load=1.0)))
        self.assertNotIn("not a quiet machine", reports.as_markdown(example(load=1.0, neighbour=True)))

    def test_one_core_has_no_handshake_and_no_targets(self):
        text = reports.as_markdown(example(cores=(0,)))
        self.assertNotIn("handshake", text)
        self.assertIn("here they have none", text)

    def test_chosen_activations_are_named(self):
        self.assertIn("tandem 0.1.0 (defaults of a user) against", reports.as_markdown(example()))
        self.assertIn("tandem 0.1.0 (--act i8, else defaults of a user) against", reports.as_markdown(example(act="i8")))

    def test_a_program_that_failed_counts_as_missed(self):
        text = reports.as_markdown(example())
        self.assertIn("- pp256: tandem ended with status 1", text)
        self.assertIn("2 met, 2 missed, 0 not judged.", text)


class Json(unittest.TestCase):
    def test_it_holds_every_sample(self):
        tree = json.loads(json.dumps(reports.as_json(example())))
        self.assertEqual(tree["schema"], reports.SCHEMA)
        speed = tree["types"][0]["speed"][0]
        self.assertEqual(speed["pairs"], {"peer": [100, 110], "tandem": [230, 231], "warm_up": [90, 10]})
        self.assertEqual(len(speed["ratios"]), 2)
        self.assertEqual(tree["types"][0]["shares"][0]["quotient"], 0.9)
        self.assertEqual(tree["verdicts"], {"met": 2, "missed": 2, "not judged": 0})


if __name__ == "__main__":
    unittest.main()
