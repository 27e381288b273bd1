"""Running programs, tested with programs that are on any machine."""

import contextlib
import io
import sys
import unittest
from unittest import mock

import figures
import processes


def python(text):
    return [sys.executable, "-c", text]


class Run(unittest.TestCase):
    def setUp(self):
        pause = mock.patch.object(processes, "PAUSE_SECONDS", 0)
        pause.start()
        self.addCleanup(pause.stop)

    def test_output_and_messages_are_kept_apart(self):
        finished = processes.run(python("import sys; print('figures'); print('words', file=sys.stderr)"))
        self.assertEqual((finished.output, finished.messages), ("figures\n", "words\n"))

    def test_the_time_is_that_of_the_whole_process(self):
        self.assertGreaterEqual(processes.run(python("import time; time.sleep(0.2)")).seconds, 0.2)

    def test_the_peak_is_that_of_the_program(self):
        held = 64 << 20
        finished = processes.run(python(f"b = b'x' * {held}"))
        self.assertGreaterEqual(finished.peak_bytes, held)

    def test_a_status_that_is_not_zero_is_an_error_with_its_last_words(self):
        with self.assertRaisesRegex(processes.Failed, "status 3(.|\n)*last words"):
            processes.run(python("import sys; print('last words', file=sys.stderr); sys.exit(3)"))

    def test_a_program_that_takes_too_long_is_ended(self):
        with self.assertRaisesRegex(processes.Failed, "limit 0.2 s"):
            processes.run(python("import time; time.sleep(30)"), timeout_seconds=0.2)


class Rounds(unittest.TestCase):
    def setUp(self):
        self.order = []

    def measure(self, name, value):
        def call():
            self.order.append(name)
            return value
        return call

    def rounds(self, pair_count, results):
        measurements = [(r, self.measure("peer", 10), self.measure("tandem", 20)) for r in results]
        return list(processes.in_rounds(pair_count, measurements))

    def test_the_order_alternates_and_the_warm_up_is_kept_apart(self):
        result = figures.Result("tg64", "t/s")
        self.assertEqual(self.rounds(2, [result]), [0, 1, 2])
        self.assertEqual(self.order, ["peer", "tandem", "tandem", "peer", "peer", "tandem"])
        self.assertEqual((result.pairs.peer, result.pairs.tandem), ([10, 10], [20, 20]))
        self.assertEqual(result.pairs.warm_up, (10, 20))

    def test_a_failure_ends_its_own_result_only(self):
        def fail():
            raise processes.Failed("it crashed", "could not open /somewhere/model.gguf")
        broken, whole = figures.Result("pp64", "t/s"), figures.Result("tg64", "t/s")
        measurements = [(broken, fail, fail), (whole, self.measure("peer", 10), self.measure("tandem", 20))]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            list(processes.in_rounds(1, measurements))
        self.assertIn("could not open", said.getvalue())  # printed, but not kept for the report
        self.assertEqual(broken.problem, "it crashed")
        self.assertEqual(whole.pairs.ratios, [2.0])


class Load(unittest.TestCase):
    def test_busy_time_leaves_out_idle_waiting_and_stolen_time(self):
        text = "cpu  100 20 30 9999 8888 4 6 7777 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
        self.assertEqual(processes.busy_seconds(text, 100), 1.6)

    def test_a_neighbour_runs_until_the_end_of_its_scope(self):
        with mock.patch.object(processes.subprocess, "Popen", wraps=processes.subprocess.Popen) as popen:
            with processes.busy_neighbour():
                self.assertEqual(popen.call_count, 1)
            with processes.busy_neighbour(wanted=False):
                self.assertEqual(popen.call_count, 1)


if __name__ == "__main__":
    unittest.main()
