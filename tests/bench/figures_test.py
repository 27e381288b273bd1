"""The figures that are measured, and their verdicts."""

import unittest

import figures
from figures import Pairs, Result, Target, Test


class Lists(unittest.TestCase):
    def test_a_test_is_written_as_llama_bench_names_it(self):
        for name, test in (("pp256", Test(256, 0)), ("tg64", Test(0, 64)), ("tg32@d1024", Test(0, 32, 1024))):
            self.assertEqual(figures.parse_test(name), test)
            self.assertEqual(test.name, name)

    def test_anything_else_is_no_test(self):
        for text in ("", "pp", "pp0", "256", "tg64@1024", "tg-1", "pp64,tg16"):
            with self.assertRaises(ValueError, msg=text):
                figures.parse_test(text)

    def test_cores_are_written_as_taskset_takes_them(self):
        self.assertEqual(figures.parse_cores("0"), {0})
        self.assertEqual(figures.parse_cores("0,2-4"), {0, 2, 3, 4})
        for text in ("", "a", "1-", "3-1"):
            with self.assertRaises(ValueError, msg=text):
                figures.parse_cores(text)

    def test_an_empty_list_is_an_error(self):
        with self.assertRaises(ValueError):
            figures.parse_list(" , ")


class Ratios(unittest.TestCase):
    def test_the_ratio_is_the_median_of_the_pairs_not_the_quotient_of_medians(self):
        pairs = Pairs(peer=[100, 200, 50], tandem=[200, 300, 150])
        self.assertEqual(pairs.ratios, [2.0, 1.5, 3.0])
        self.assertEqual(pairs.ratio, 2.0)

    def test_the_warm_up_pair_does_not_count(self):
        pairs = Pairs()
        pairs.add(1, 100, warm_up=True)
        pairs.add(10, 20)
        self.assertEqual(pairs.ratio, 2.0)
        self.assertEqual(pairs.warm_up, (1, 100))


class Verdicts(unittest.TestCase):
    def test_a_bound_itself_meets_the_target(self):
        self.assertEqual(figures.judge(2.0, Target(2.0)), figures.MET)
        self.assertEqual(figures.judge(1.999, Target(2.0)), figures.MISSED)
        self.assertEqual(figures.judge(1.0, Target(1.0, at_least=False)), figures.MET)
        self.assertEqual(figures.judge(1.001, Target(1.0, at_least=False)), figures.MISSED)

    def test_without_a_target_there_is_no_verdict(self):
        self.assertEqual(figures.judge(0.1, None), figures.NO_TARGET)
        self.assertEqual(figures.judge(0.1, None, figures.ONE_PHYSICAL_CORE), figures.NO_TARGET)

    def test_what_failed_has_missed(self):
        result = Result("tg64", "t/s", problem="it crashed")
        figures.judge_result(result, figures.ONE_PHYSICAL_CORE)
        self.assertTrue(result.verdict.startswith(figures.MISSED))

    def test_what_was_left_out_is_not_judged(self):
        result = Result("tg32@d1024", "t/s", verdict=f"{figures.NOT_JUDGED}, not measured", problem="no -d")
        figures.judge_result(result)
        self.assertEqual(result.verdict, f"{figures.NOT_JUDGED}, not measured")

    def test_verdicts_are_counted_by_their_kind(self):
        verdicts = [figures.MET, figures.MISSED, figures.MISSED + ", it failed", figures.ONE_PHYSICAL_CORE,
                    figures.NO_TARGET]
        self.assertEqual(figures.count_verdicts(verdicts), {figures.MET: 1, figures.MISSED: 2, figures.NOT_JUDGED: 1})


class Placement(unittest.TestCase):
    def test_two_readings_between_two_cores_let_ratios_be_judged(self):
        self.assertEqual(figures.why_not_judged(0.078, 0.43, 2), "")

    def test_one_physical_core_is_not_judged(self):
        self.assertEqual(figures.why_not_judged(0.0779, 0.070, 2), figures.ONE_PHYSICAL_CORE)

    def test_readings_that_disagree_say_so(self):
        self.assertEqual(figures.why_not_judged(0.085, 0.070, 2), figures.CORES_MOVED)
        self.assertEqual(figures.why_not_judged(0.070, 0.085, 2), figures.CORES_MOVED)

    def test_without_a_reading_two_cores_are_not_judged(self):
        self.assertEqual(figures.why_not_judged(None, 0.085, 2), figures.NO_HANDSHAKE)
        self.assertEqual(figures.why_not_judged(0.085, None, 2), figures.NO_HANDSHAKE)

    def test_the_handshake_concerns_two_cores_only(self):
        self.assertEqual(figures.why_not_judged(None, None, 1), "")
        self.assertEqual(figures.why_not_judged(None, None, 8), "")


class Targets(unittest.TestCase):
    def test_every_type_has_its_own_targets_at_short_context(self):
        wanted = {"Q4_1": (2.1, 4.0), "Q4_0": (1.7, 1.15), "Q8_0": (1.6, 1.8), "F16": (1.25, 1.5)}
        for name, (decode, prefill) in wanted.items():
            self.assertEqual(figures.speed_target(name, "tg64", 2), Target(decode))
            self.assertEqual(figures.speed_target(name, "pp256", 2), Target(prefill))

    def test_with_8_bit_activations_they_are_higher_and_f16_weights_have_none(self):
        wanted = {"Q4_1": (2.5, 6.0), "Q4_0": (2.2, 2.2), "Q8_0": (2.2, 2.5)}
        for name, (decode, prefill) in wanted.items():
            self.assertEqual(figures.speed_target(name, "tg64", 2, act="i8"), Target(decode))
            self.assertEqual(figures.speed_target(name, "pp256", 2, act="i8"), Target(prefill))
        self.assertIsNone(figures.speed_target("F16", "pp256", 2, act="i8"))
        self.assertEqual(figures.speed_target("Q4_1", "pp256", 2, act="f16"), Target(4.0))

    def test_long_prompts_and_deep_decode_may_not_be_below_the_peer(self):
        for test in ("pp512", "pp1024", "tg32@d1024"):
            self.assertEqual(figures.speed_target("F16", test, 2), Target(1.0))

    def test_beside_a_neighbour_the_target_is_lower(self):
        self.assertEqual(figures.speed_target("Q4_1", "tg64", 2, neighbour=True), Target(0.9))
        self.assertIsNone(figures.speed_target("Q4_1", "pp512", 2, neighbour=True))

    def test_other_tests_types_and_numbers_of_cores_have_none(self):
        self.assertIsNone(figures.speed_target("Q4_1", "tg16", 2))
        self.assertIsNone(figures.speed_target("Q6_K", "tg64", 2))
        self.assertIsNone(figures.speed_target("Q4_1", "tg64", 1))

    def test_the_cache_holds_keys_and_values_of_every_layer(self):
        shapes = {"layers": 30, "kv_heads": 3, "head_dim": 64}
        self.assertEqual(figures.kv_cache_bytes(shapes, 2048), 2 * 30 * 3 * 64 * 2048 * 2)


if __name__ == "__main__":
    unittest.main()
