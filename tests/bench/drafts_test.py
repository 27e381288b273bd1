"""Drafts beside the peer's: reading both engines' answers, sums over prompts and rounds, and the tables."""

import argparse
import contextlib
import io
import json
import unittest

import drafts
from processes import Failed


def theirs(tokens, ms, text="a", drafted=0, accepted=0):
    return {"text": text, "timings": {"predicted_n": tokens, "predicted_ms": ms, "draft_n": drafted, "draft_n_accepted": accepted}}


def ours(tokens, ms, text="a", drafted=0, accepted=0):
    timings = {"predicted_tokens": tokens, "predicted_ms": ms, "draft_n": drafted, "draft_n_accepted": accepted}
    return {"text": text, "timings": timings}


class Answers(unittest.TestCase):
    def test_come_a_line_each_without_the_first_text(self):
        output = "loading\n" + "\n".join(json.dumps({"text": name}) for name in ("warm", "one", "two")) + "\n"
        self.assertEqual(drafts.answers_in(output, 2), [{"text": "one"}, {"text": "two"}])

    def test_of_another_number_are_an_error(self):
        for lines in (0, 2, 4):
            with self.assertRaisesRegex(Failed, f"{lines} answers to 3 prompts"):
                drafts.answers_in('{"text": ""}\n' * lines, 2)

    def test_that_are_no_json_are_an_error(self):
        with self.assertRaisesRegex(Failed, "not JSON"):
            drafts.answers_in("{oops", 1)


class Configurations(unittest.TestCase):
    def test_are_each_of_the_peers_kinds_twice_and_two_of_each_act(self):
        wanted = drafts.configurations(["f16", "i8"])
        self.assertEqual([kind for engine, kind, _ in wanted if engine == "llama.cpp"],
                         ["plain"] + [name for kind in drafts.KINDS for name in (kind, f"{kind}, {drafts.MOST}")])
        self.assertEqual([(engine, kind, how) for engine, kind, how in wanted if engine != "llama.cpp"],
                         [("Tandem f16", "plain", ("f16", "none")), ("Tandem f16", "auto", ("f16", "auto")),
                          ("Tandem i8", "plain", ("i8", "none")), ("Tandem i8", "auto", ("i8", "auto"))])
        self.assertIn(("llama.cpp", "ngram-mod", ("ngram-mod", None)), wanted)
        self.assertIn(("llama.cpp", "ngram-mod, 16", ("ngram-mod", 16)), wanted)

    def test_have_a_plain_one_of_an_engine_before_its_others(self):
        seen = set()
        for engine, kind, _ in drafts.configurations(["f16"]):
            self.assertTrue(kind == "plain" or engine in seen)
            seen.add(engine)


class Sums(unittest.TestCase):
    def test_of_a_task_are_of_its_own_prompts(self):
        # 30 tokens in 300 ms, and not the mean of 200 and 50 tokens/s.
        answers = [theirs(20, 100, drafted=8, accepted=2), theirs(900, 1), theirs(10, 200, drafted=2, accepted=2)]
        self.assertAlmostEqual(drafts.rate_of(answers, [0, 2]), 100)
        self.assertAlmostEqual(drafts.accepted_of(answers, [0, 2]), 0.4)
        self.assertIsNone(drafts.accepted_of(answers, [1]))

    def test_read_both_engines_names(self):
        self.assertAlmostEqual(drafts.rate_of([ours(50, 1000)], [0]), 50)
        self.assertIsNone(drafts.accepted_of([{"text": "", "timings": {"predicted_n": 1, "predicted_ms": 1}}], [0]))


# The peer writes 10, 20 and 40 tokens/s, and with drafts 10, 40 and 40. Tandem writes 50 each time, and with drafts 100,
# 100 and 200.
def rounds(last_text="a"):
    plain, drafted, auto = (10, 20, 40), (10, 40, 40), (100, 100, 200)
    return [{("llama.cpp", "plain"): [theirs(plain[i], 1000)],
             ("llama.cpp", "ngram-mod"): [theirs(drafted[i], 1000, text=last_text if i == 2 else "a", drafted=4, accepted=i)],
             ("Tandem f16", "plain"): [ours(50, 1000)],
             ("Tandem f16", "auto"): [ours(auto[i], 1000, drafted=2, accepted=1)]} for i in range(3)]


class Rows(unittest.TestCase):
    def test_have_medians_and_gains_within_each_round(self):
        self.assertEqual(drafts.rows_of("edit", [0], rounds()),
                         [("llama.cpp", "plain", 20, 1, None, True), ("llama.cpp", "ngram-mod", 40, 1, 0, True),
                          ("Tandem f16", "plain", 50, 1, None, True), ("Tandem f16", "auto", 100, 2, 0.5, True)])

    def test_say_where_a_text_is_not_that_of_the_engines_plain_run(self):
        same = {row[:2]: row[5] for row in drafts.rows_of("edit", [0], rounds("b"))}
        self.assertEqual([key for key, value in same.items() if not value], [("llama.cpp", "ngram-mod")])

    def test_are_set_beside_the_peers_best(self):
        rows = drafts.rows_of("edit", [0], rounds())
        self.assertEqual(drafts.ratios_of(rows, "f16"), (2.5, 2))

    def test_become_two_tables(self):
        rows = drafts.rows_of("edit", [0], rounds("b"))
        lines = drafts.tables({"edit": rows}, ["f16"])
        self.assertEqual(lines[2:6], ["| edit | llama.cpp | plain | 20.0 | 1.00 | – | yes |",
                                      "| edit | llama.cpp | ngram-mod | 40.0 | 1.00 | 0 % | no |",
                                      "| edit | Tandem f16 | plain | 50.0 | 1.00 | – | yes |",
                                      "| edit | Tandem f16 | auto | 100.0 | 2.00 | 50 % | yes |"])
        self.assertEqual(lines[-1], "| edit | f16 | 2.50 | 2.00 |")


class FakeWriters:
    def __init__(self):
        self.asked = []

    def answers(self, engine, how):
        self.asked.append((engine, how))
        return [theirs(1, 1)]


def measured(most_rounds, seconds):
    writers = FakeWriters()
    with contextlib.redirect_stderr(io.StringIO()):
        done = drafts.measured_rounds(argparse.Namespace(rounds=most_rounds, seconds=seconds), writers, ["i8"])
    return done, writers.asked


class Rounds(unittest.TestCase):
    def test_ask_each_configuration_once(self):
        done, asked = measured(2, 1e9)
        once = [(engine, how) for engine, _, how in drafts.configurations(["i8"])]
        self.assertEqual(asked, once * 2)
        self.assertEqual([len(one) for one in done], [len(once)] * 2)

    def test_end_before_the_time_is_over_but_there_is_one(self):
        done, _ = measured(5, 0)
        self.assertEqual(len(done), 1)


if __name__ == "__main__":
    unittest.main()
