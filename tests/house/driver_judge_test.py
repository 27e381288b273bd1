"""Which results of a driver are failures, and which are explained refusals."""

import unittest

import judge


def junit(*cases):
    return "<testsuite>" + "".join(cases) + "</testsuite>"


def passed(name):
    return f'<testcase name="{name}" status="run"><system-out>fine</system-out></testcase>'


def failed(name):
    return f'<testcase name="{name}" status="fail"><failure message=""/><system-out>wrong</system-out></testcase>'


def skipped(name, reason):
    return (f'<testcase name="{name}" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
            f'<system-out>Running\nsome/file_test.cpp:12: Skipped\nskipped: {reason}\n\n[ SKIPPED ]</system-out></testcase>')


def not_started(name):
    return f'<testcase name="{name}" status="notrun"><skipped message="Unable to find executable"/></testcase>'


KNOWN = {"tests": {r"^a/B\.knows_halves$": "its halves are wrong"}}
REFUSED = {"device": "its loops end early"}


class Judging(unittest.TestCase):
    def test_counts_what_passed_failed_and_was_refused_with_the_reasons(self):
        verdict = judge.judge({}, junit(passed("a/B.one"), failed("a/B.two"), skipped("a/B.three", "no clock"),
                                        skipped("a/B.four", "no clock")))
        self.assertEqual(verdict.passed, 1)
        self.assertEqual(verdict.failed, [("a/B.two", "")])
        self.assertEqual(verdict.refused, {"no clock": ["a/B.three", "a/B.four"]})
        self.assertFalse(verdict.good)
        self.assertTrue(judge.text(verdict).endswith("1 passed, 1 failed, 2 refused"))

    def test_a_failure_that_was_explained_is_a_refusal(self):
        verdict = judge.judge(KNOWN, junit(passed("a/B.one"), failed("a/B.knows_halves")), whole=True)
        self.assertEqual(verdict.refused, {"its halves are wrong": ["a/B.knows_halves"]})
        self.assertTrue(verdict.good)

    def test_an_explanation_holds_for_the_tests_that_it_names_only(self):
        self.assertFalse(judge.judge(KNOWN, junit(passed("a/B.one"), failed("a/B.knows_halves_too"))).good)

    def test_what_was_explained_and_passes_is_a_failure(self):
        verdict = judge.judge(KNOWN, junit(passed("a/B.one"), passed("a/B.knows_halves")))
        self.assertEqual([test for test, _ in verdict.failed], ["a/B.knows_halves"])
        self.assertFalse(verdict.good)

    def test_what_was_explained_and_is_no_test_any_more_is_a_failure_of_a_whole_run(self):
        self.assertFalse(judge.judge(KNOWN, junit(passed("a/B.one")), whole=True).good)
        self.assertTrue(judge.judge(KNOWN, junit(passed("a/B.one")), whole=False).good)

    def test_a_test_that_could_not_be_started_is_a_failure(self):
        self.assertEqual(len(judge.judge({}, junit(passed("a/B.one"), not_started("a/B.two"))).failed), 1)

    def test_nothing_is_good_when_nothing_passed(self):
        self.assertFalse(judge.judge({}, junit(skipped("a/B.one", "no clock"))).good)
        self.assertFalse(judge.judge({}).good)

    def test_a_device_is_refused_for_the_reason_that_was_found_and_for_no_other(self):
        self.assertTrue(judge.judge(REFUSED, None, "opencl:0: its loops end early, at 65535").good)
        self.assertFalse(judge.judge(REFUSED, None, "no device of it was found").good)
        self.assertFalse(judge.judge({}, None, "opencl:0: its loops end early, at 65535").good)

    def test_a_device_that_is_refused_no_more_is_a_failure(self):
        self.assertFalse(judge.judge(REFUSED, junit(passed("a/B.one"))).good)

    def test_tests_of_a_refused_device_count(self):
        why = "its loops end early"
        self.assertTrue(judge.judge(REFUSED, junit(passed("a/B.one")), why).good)
        self.assertFalse(judge.judge(REFUSED, junit(failed("a/B.one")), why).good)

    def test_the_row_has_the_reasons(self):
        verdict = judge.judge(KNOWN, junit(passed("a/B.one"), failed("a/B.knows_halves"), skipped("a/B.c", "x | y")))
        self.assertEqual(judge.row("d", "p 1\nq 2", verdict), "| d | p 1, q 2 | 1 | 0 | 1: its halves are wrong; 1: x \\| y |")


if __name__ == "__main__":
    unittest.main()
