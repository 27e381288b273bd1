"""Sums of ./dev bench serve, on numbers worked out by hand, and its words for wrong usage."""

import contextlib
import io
import json
import sys
import unittest

import load
import serve
import sums
from asking import Failed, random_prompt, request, streamed


class Percentiles(unittest.TestCase):
    def test_are_values_of_the_list(self):
        values = [5, 1, 4, 2, 3]
        self.assertEqual(sums.percentile(values, 50), 3)
        self.assertEqual(sums.percentile(values, 99), 5)
        self.assertEqual(sums.percentile(values, 20), 1)
        self.assertEqual(sums.percentile(values, 21), 2)
        self.assertEqual(sums.percentile([7], 1), 7)

    def test_of_a_hundred_values(self):
        self.assertEqual(sums.percentile(range(1, 101), 99), 99)
        self.assertEqual(sums.milliseconds([0.001, 0.002, 0.0301]), "2.0 ms, 30.1 ms")


class Speeds(unittest.TestCase):
    def test_count_read_and_written_tokens_of_all_texts(self):
        self.assertEqual(sums.speed(4, 128, 64, 2.0), 384)

    def test_are_compared_within_each_round(self):
        self.assertEqual(sums.ratio_of_pairs([10, 40, 9], [10, 20, 10]), 1.0)


class Prompts(unittest.TestCase):
    def test_of_different_seeds_share_no_beginning(self):
        first = [random_prompt(seed, 8, 49152)[0] for seed in range(50)]
        self.assertGreater(len(set(first)), 45)
        self.assertEqual(random_prompt(3, 8, 100), random_prompt(3, 8, 100))
        self.assertTrue(all(50 <= each < 100 for each in random_prompt(1, 400, 100)))

    def test_are_asked_for_greedily_and_to_their_full_length(self):
        self.assertEqual(request([1], 5), {"prompt": [1], "max_tokens": 5, "temperature": 0, "ignore_eos": True})


def chunk(*events):
    body = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in events)
    return b"%x\r\n%s\r\n" % (len(body), body)


def said(text):
    return {"choices": [{"text": text}]}


class Streams(unittest.TestCase):
    HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    def test_have_the_times_at_which_their_pieces_were_complete(self):
        one, two = chunk(said("a")), chunk(said("b"), said("c"))
        answer = streamed([(1.0, self.HEAD + one), (2.0, two[:9]), (3.5, two[9:]), (4.0, b"0\r\n\r\n")])
        self.assertEqual((answer.text, answer.first_seconds, answer.seconds), ("abc", 1.0, 4.0))
        self.assertEqual(answer.gaps, [2.5, 0.0])

    def test_that_end_with_an_error_are_none(self):
        with self.assertRaisesRegex(Failed, "the device is gone"):
            streamed([(1.0, self.HEAD + chunk({"error": {"message": "the device is gone"}}) + b"0\r\n\r\n")])
        with self.assertRaisesRegex(Failed, "429"):
            streamed([(1.0, b"HTTP/1.1 429 Too Many Requests\r\n\r\n{}")])


class Usage(unittest.TestCase):
    def status(self, *arguments):
        sys.argv = ["serve", "--tandem", "/nowhere/tandem", *arguments]
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit) as ended:
            serve.main()
        return ended.exception.code, said.getvalue()

    def test_that_is_wrong_is_told(self):
        self.assertEqual(self.status("-m", "/nowhere/model.gguf")[0], 2)
        code, said = self.status("-m", __file__, "--only", "speed,colour")
        self.assertEqual(code, 2)
        self.assertIn("colour", said)


class Load(unittest.TestCase):
    def test_grows_by_the_memory_of_its_end_over_that_of_its_beginning(self):
        self.assertEqual(load.growth([(i, 900 if i < 4 else 100 if i < 19 else 150) for i in range(20)]), 1.25)
        self.assertEqual(load.growth([(0, 100), (1, 103)]), 1.03)

    def test_is_as_fair_as_its_slowest_client_is_to_the_middle_one(self):
        self.assertEqual(load.fairness({1: [1.0, 3.0], 2: [1.0], 3: [2.0], 4: [6.0], 5: [1.0]}), 3.0)

    def test_that_loses_or_changes_a_text_is_an_error(self):
        right = load.Counts(by_client={0: [1.0], 1: [1.0]})
        load.judge(right, 2)
        for counts, words in ((load.Counts(by_client=right.by_client, lost=["/health: 503"]), "1 requests were lost"),
                              (load.Counts(by_client=right.by_client, wrong=[7]), "text 7"),
                              (load.Counts(by_client={0: [1.0]}), "1 clients got no text")):
            with self.assertRaisesRegex(Failed, words):
                load.judge(counts, 2)

    def test_of_too_few_seconds_is_wrong_usage(self):
        for seconds in ("0", "-5", "x"):
            sys.argv = ["serve", "--tandem", "/nowhere", "-m", __file__, "--load", seconds]
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit) as ended:
                serve.main()
            self.assertEqual(ended.exception.code, 2)


class Outside(unittest.TestCase):
    def test_is_what_the_engine_does_not_count(self):
        answer = type("Answer", (), {"seconds": 0.5, "timings": {"prompt_ms": 300, "predicted_ms": 150}})
        self.assertEqual(serve.outside(answer), 50)


class Verification(unittest.TestCase):
    class Liar:
        """Gives other words when it has several clients."""

        def whole(self, ids, tokens):
            return type("Answer", (), {"text": "alone"})

        def at_once(self, prompts, tokens):
            return [type("Answer", (), {"text": "alone"})] * (len(prompts) - 1) + [type("Answer", (), {"text": "x"})], 1.0

    def test_refuses_a_text_that_others_change(self):
        with self.assertRaisesRegex(serve.Failed, "text 3 is not the text that it is alone"):
            serve.verify(self.Liar(), 4, 8, 4, 100)


if __name__ == "__main__":
    unittest.main()
