"""The server beside llama.cpp's: turns, verification and rows, with servers of the test."""

import signal
import unittest
from types import SimpleNamespace

import serve
from processes import Failed


class Child:
    def __init__(self):
        self.signals = []

    def send_signal(self, one):
        self.signals.append(one)


class Toy:
    """Writes a text of its prompt's first id. Changes the texts of several clients whose prompts have these places."""

    def __init__(self, changed=(), written=None):
        self.child, self.changed, self.written = Child(), changed, written

    def stream(self, ids, tokens):
        return SimpleNamespace(text=str(ids[0]), usage={"completion_tokens": self.written or tokens})

    def at_once(self, prompts, tokens):
        answers = [self.stream(each, tokens) for each in prompts]
        for place in self.changed:
            answers[place].text = "another"
        return answers, 2.0


class Turns(unittest.TestCase):
    def test_alternate_and_leave_the_first_round_out(self):
        ours, theirs, asked = Toy(), Toy(), []

        def measure(server, number):
            asked.append((number, server is ours))
            self.assertEqual((theirs if server is ours else ours).child.signals[-1], signal.SIGSTOP)
            return number * (10 if server is ours else 1)

        self.assertEqual(serve.in_turns(ours, theirs, 2, measure), [(10, 1), (20, 2)])
        self.assertEqual(asked, [(0, True), (0, False), (1, False), (1, True), (2, True), (2, False)])
        self.assertEqual(ours.child.signals[-1], signal.SIGCONT)

    def test_that_fail_let_the_other_server_go_on(self):
        def fail(server, number):
            raise Failed("no")

        ours, theirs = Toy(), Toy()
        with self.assertRaises(Failed):
            serve.in_turns(ours, theirs, 1, fail)
        self.assertEqual(theirs.child.signals, [signal.SIGSTOP, signal.SIGCONT])


class Verification(unittest.TestCase):
    def test_refuses_our_changed_texts_and_counts_theirs(self):
        self.assertEqual(serve.check_texts(Toy(), Toy(changed=(0, 2)), 4, 8, 4, 100), 2)
        with self.assertRaisesRegex(Failed, "with 4 clients, 1 texts of Tandem"):
            serve.check_texts(Toy(changed=(3,)), Toy(), 4, 8, 4, 100)

    def test_refuses_texts_that_are_too_short(self):
        given = SimpleNamespace(prompt=8, generate=4)
        self.assertEqual(serve.speed_of(Toy(), given, 2, 0, 100), 2 * 12 / 2.0)
        with self.assertRaisesRegex(Failed, "3 tokens instead of 4"):
            serve.speed_of(Toy(written=3), given, 2, 0, 100)


class Rows(unittest.TestCase):
    def test_have_medians_of_ratios_within_each_round(self):
        self.assertEqual(serve.speed_row(4, [(20, 10), (30, 10), (10, 10)], 1), "| 4 | 20.0 | 10.0 | 2.00 | 1 of 4 |")

    def test_have_percentiles_of_all_requests(self):
        row = serve.first_row("alone", [([0.1, 0.3], [0.2, 0.4]), ([0.2], [1.0])])
        self.assertEqual(row, "| alone | 3 | 200.0 | 400.0 | 0.50 | 300.0 | 1000.0 | 0.30 |")


if __name__ == "__main__":
    unittest.main()
