"""First contact: ratios and verdicts worked out by hand, launches of common programs, and the command.

The programs that the tests launch are on any machine. The command runs with stand-ins for both programs.
"""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import contacts
import first_contact
import launches
import lines
import processes
import programs
from figures import MET, MISSED, NO_TARGET, Target
from lines import Samples


class Lengths(unittest.TestCase):
    def test_they_are_different_rising_and_those_of_the_seed(self):
        lengths = lines.random_lengths(30, 1)
        self.assertEqual(len(set(lengths)), 30)
        self.assertEqual(lengths, sorted(lengths))
        self.assertGreaterEqual(lengths[0], 3)
        self.assertLessEqual(lengths[-1], 1000)
        self.assertEqual(lengths, lines.random_lengths(30, 1))
        self.assertNotEqual(lengths, lines.random_lengths(30, 2))

    def test_all_of_them_can_be_asked_for(self):
        self.assertEqual(lines.random_lengths(998, 5), list(range(3, 1001)))


class Turns(unittest.TestCase):
    def test_every_round_begins_with_another_one(self):
        order = []
        samples = lines.in_turns(4, {who: lambda who=who: order.append(who) or len(order) for who in "abc"})
        self.assertEqual("".join(order), "abcbcacababc")
        self.assertEqual(samples, {"a": [1, 6, 8, 10], "b": [2, 4, 9, 11], "c": [3, 5, 7, 12]})


class Judging(unittest.TestCase):
    # The ratios new / warm are 2, 1 and 1.5, and new / peer are 0.5, 1 and 0.25. The ratio of medians would be 2 / 2.
    samples = Samples(new=[2, 3, 1.5], warm=[1, 3, 1], peer=[4, 3, 6])

    def test_a_ratio_is_the_median_of_the_rounds_ratios(self):
        self.assertEqual(self.samples.ratio("warm"), 1.5)
        self.assertEqual(self.samples.ratio("peer"), 0.5)

    def test_a_difference_is_the_median_of_the_rounds_differences(self):
        self.assertEqual(self.samples.difference("peer"), -2)  # the median of -2, 0 and -4.5

    def test_a_line_has_medians_and_a_verdict(self):
        line = lines.ratio_line("first token", self.samples, "warm", Target(1.1, at_least=False))
        self.assertEqual((line.new, line.warm, line.peer), (2, 1, 4))
        self.assertEqual((line.judged, line.target, line.verdict), ("1.500 x warm", "≤ 1.1", MISSED))
        self.assertEqual(lines.ratio_line("", self.samples, "peer", Target(1, at_least=False)).verdict, MET)
        self.assertEqual(lines.ratio_line("", self.samples, "peer", None).verdict, NO_TARGET)

    def test_some_seconds_after_the_peer_are_allowed(self):
        late = Samples(new=[1.5], warm=[1], peer=[1])
        self.assertEqual(lines.difference_line("", late, "peer", 0.5).verdict, MET)
        line = lines.difference_line("", late, "peer", 0.4)
        self.assertEqual((line.verdict, line.judged, line.target), (MISSED, "the peer +0.500 s", "≤ the peer + 0.4 s"))

    def test_of_many_prompts_each_has_to_meet_the_target(self):
        good, bad = Samples([1], [1], [2]), Samples([3], [2], [3])
        line = lines.worst_line("lengths", [good, bad, good], "warm", Target(1.1, at_least=False))
        self.assertEqual((line.verdict, line.value), (MISSED, 1.5))
        self.assertEqual(line.judged, "1.000 x warm, worst 1.500, 2 of 3 met")
        self.assertEqual((line.new, line.warm, line.peer), (5, 4, 7))
        self.assertEqual(lines.worst_line("", [good, good], "peer", Target(1, at_least=False)).verdict, MET)
        self.assertEqual(lines.worst_line("", [good, bad], "warm", Target(1.2)).value, 1, "where more is good, the least")

    def test_what_failed_has_missed_and_the_table_says_so(self):
        line = lines.failed_line("dialogue", "tandem ended with status 1")
        self.assertEqual(line.verdict, MISSED)
        self.assertEqual(lines.table([line])[-1], "| dialogue | s | – | – | – | – | – | missed, it failed |")

    def test_the_tables_print_seconds_and_rates(self):
        line = lines.Line("text", "t/s", 100.25, 200.5, None, "0.500 x warm", 0.5, "≥ 0.5", MET)
        self.assertEqual(lines.table([line])[-1], "| text | t/s | 100.2 | 200.5 | – | 0.500 x warm | ≥ 0.5 | met |")
        self.assertEqual(lines.length_table([7], [self.samples])[-1], "| 7 | 2.000 | 1.000 | 4.000 | 1.500 | 0.500 |")


def python(text):
    return [sys.executable, "-c", text]


class Launches(unittest.TestCase):
    def setUp(self):
        pause = mock.patch.object(processes, "PAUSE_SECONDS", 0)
        pause.start()
        self.addCleanup(pause.stop)

    def test_the_first_bytes_come_before_the_last_and_the_end(self):
        launch = launches.launch(python("import time; print('one', flush=True); time.sleep(1);"
                                        "print('two', flush=True); time.sleep(1); print('', flush=True)"))
        self.assertEqual(launch.output, "one\ntwo\n\n")
        self.assertLess(0, launch.first_seconds)
        # The bound is less than the pauses, because a busy machine reads output late.
        self.assertGreaterEqual(launch.last_seconds, launch.first_seconds + 0.3)
        self.assertGreaterEqual(launch.total_seconds, launch.last_seconds + 0.3, "an empty line is no text")

    def test_input_and_messages_are_the_programs_own(self):
        launch = launches.launch(python("import sys; print(input() + input()); print('words', file=sys.stderr)"),
                                 lines="a\nb\n")
        self.assertEqual((launch.output, launch.messages), ("ab\n", "words\n"))

    def test_a_program_that_fails_or_writes_nothing_or_never_ends_is_an_error(self):
        with self.assertRaisesRegex(processes.Failed, "status 3(.|\n)*last words"):
            launches.launch(python("import sys; print('text'); print('last words', file=sys.stderr); sys.exit(3)"))
        with self.assertRaisesRegex(processes.Failed, "wrote nothing"):
            launches.launch(python("print('')"))
        with self.assertRaisesRegex(processes.Failed, "limit 0.2 s"):
            launches.launch(python("import time; time.sleep(60)"), timeout_seconds=0.2)

    def test_the_rate_is_that_of_the_tokens_after_the_first(self):
        self.assertAlmostEqual(launches.Launch(1.0, 3.0, 9.0, "", "").text_rate(11), 5)

    def test_programs_keep_things_in_the_folder_given_and_a_users_choices_are_left_out(self):
        base = {"HOME": "/h", "XDG_CACHE_HOME": "/c", "TANDEM_DEVICE": "host", "TANDEM_LOG": "debug"}
        self.assertEqual(launches.environment(None, base), {"HOME": "/h", "XDG_CACHE_HOME": "/c"})
        self.assertEqual(launches.environment("/new", base),
                         {"HOME": "/h", "XDG_CACHE_HOME": "/new", "POCL_CACHE_DIR": "/new/pocl",
                          "MESA_SHADER_CACHE_DIR": "/new/mesa"})

    def test_who_is_left_behind_with_a_folder_is_waited_for_or_ended(self):
        def leave_behind(seconds, folder):
            return subprocess.Popen(python(f"import time; time.sleep({seconds})"), env=launches.environment(folder))

        with launches.Caches() as caches:
            folder, other = caches.empty(), caches.empty()
            brief, endless, others = leave_behind(0.3, folder), leave_behind(600, other), leave_behind(600, None)
            caches.settle(folder, 60)
            self.assertEqual(brief.wait(60), 0, "it had time to end by itself")
            with self.assertRaisesRegex(processes.Failed, "goes on after 0.1 s"):
                caches.settle(other, 0.1)
            caches.drop(other)
            self.assertEqual(endless.wait(60), -signal.SIGKILL)
            self.assertIsNone(others.poll(), "it keeps its things elsewhere")
            others.kill()
            others.wait()

    def test_every_folder_has_the_same_path_for_programs(self):
        def seen_by_a_program(folder):
            return launches.launch(python("import os; path = os.environ['XDG_CACHE_HOME']; print(path);"
                                          "print(*os.listdir(path))"), folder).output.split()

        with launches.Caches() as caches:
            first = caches.empty()
            with open(os.path.join(first, "kept"), "w", encoding="ascii") as file:
                file.write("x")
            path, kept = seen_by_a_program(first)
            self.assertEqual(kept, "kept")
            self.assertEqual(seen_by_a_program(caches.empty()), [path])
            self.assertEqual(seen_by_a_program(first), [path, "kept"])
            left = subprocess.Popen(python("import time; time.sleep(600)"), env=launches.environment(path))
            seen_by_a_program(caches.empty())
            self.assertEqual(left.wait(60), -signal.SIGKILL, "another machine's programs do not work with this one")

    def test_folders_are_empty_or_copies_and_go_away(self):
        with launches.Caches() as caches:
            first = caches.empty()
            self.assertEqual(os.listdir(first), [])
            with open(os.path.join(first, "kept"), "w", encoding="ascii") as file:
                file.write("x")
            copy = caches.copy(first)
            os.remove(os.path.join(first, "kept"))
            self.assertEqual(os.listdir(copy), ["kept"])
            self.assertEqual(os.listdir(caches.empty()), [])
            caches.drop(copy)
            self.assertFalse(os.path.exists(copy))
        self.assertFalse(os.path.exists(first))


class PeerDialogue(unittest.TestCase):
    # Messages of llama-completion. It reads the end of an answer together with the next line.
    messages = ("0.05 I common_perf_print: prompt eval time =     574.31 ms /    18 tokens (   31.91 ms per token)\n"
                "0.05 I common_perf_print:        eval time =     659.35 ms /    12 runs   (   54.95 ms per token)\n"
                "0.05 I common_perf_print:       total time =    1383.17 ms /    30 tokens\n")

    def test_its_tokens_are_those_it_read_and_those_it_generated(self):
        self.assertEqual(contacts.peer_dialogue_tokens(self.messages), 30)

    def test_a_run_that_does_not_say_so_is_an_error(self):
        with self.assertRaisesRegex(processes.Failed, "how many tokens"):
            contacts.peer_dialogue_tokens("total time = 1 ms / 30 tokens")


# Stands in for tandem: a word is a token. The text repeats the last word, or WORD if that is set.
TANDEM = """
import os, sys
arguments = sys.argv[1:]
value = lambda flag: arguments[arguments.index(flag) + 1]
if arguments[0] == "tokenize":
    print(value("-p") if "--decode" in arguments else " ".join(value("-p").split()))
elif arguments[0] == "run":
    count = int(value("-n"))
    with open(os.path.join(os.environ["XDG_CACHE_HOME"], "runs"), "a") as file: file.write(value("-p")[:9] + "\\n")
    print(" ".join([os.environ.get("WORD", value("-p").split()[-1])] * count))
    words = len(value("-p").split())
    print(f"prompt {words} tokens, 1 tokens/s; generated {count} tokens, 1 tokens/s", file=sys.stderr)
"""


class Both(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        pause = mock.patch.object(processes, "PAUSE_SECONDS", 0)
        pause.start()
        self.addCleanup(pause.stop)
        self.program = os.path.join(self.folder.name, "tandem")
        with open(self.program, "w", encoding="ascii") as file:
            file.write(f"#!{sys.executable}\n{TANDEM}")
        os.chmod(self.program, 0o755)
        tandem = programs.Tandem.__new__(programs.Tandem)
        tandem.path, tandem._act = self.program, []
        self.both = contacts.Contacts(None, tandem, None, 60)

    def test_a_prompt_has_the_tokens_asked_for(self):
        for length in (3, 50, 999):
            self.assertEqual(self.both.tokens("m", self.both.prompt_of("m", length)), length)

    def test_a_run_that_writes_another_text_than_before_is_an_error(self):
        model = self.program  # any file will do: it is read into memory before a run
        self.assertEqual(self.both.tandem(model, "a b", 3, self.folder.name).output, "b b b\n")
        self.both.tandem(model, "a b", 3, self.folder.name)
        self.both.tandem(model, "a c", 3, self.folder.name)
        with mock.patch.dict(os.environ, WORD="other"), self.assertRaisesRegex(processes.Failed, "another text"):
            self.both.tandem(model, "a b", 3, self.folder.name)

    def test_the_type_is_that_of_the_files_name(self):
        self.assertEqual(self.both.known_type("/models/SmolLM2-135M.Q4_1.gguf"), "Q4_1")


class StandIns:
    """Both programs, with times that depend on what the folder has seen."""

    def __init__(self, new_seconds=1.05):
        self.new_seconds, self.runs = new_seconds, []

    def tandem(self, model, prompt, count, cache):
        seen = os.path.join(cache, f"{len(prompt)}")
        first = 1.0 if os.path.exists(seen) else self.new_seconds
        open(seen, "w", encoding="ascii").close()
        self.runs.append((model, prompt))
        return launches.Launch(first, first + 1, first + 2, "", "")

    def peer(self, model, prompt, count):
        return launches.Launch(2.0, 4.0, 5.0, "", "")

    def tandem_dialogue(self, model, cache):
        return launches.Launch(1.0, 6.0, 7.0, "", "")

    def peer_dialogue(self, model):
        return launches.Launch(1.0, 9.0, 10.0, "", "")

    def make_random(self, shape, type_name):
        return f"{shape}.{type_name}.gguf"

    def prompt_of(self, model, length):
        return "x" * length

    def tokens(self, model, prompt):
        return len(prompt)

    def known_type(self, model):
        return "Q4_1"


class Command(unittest.TestCase):
    def setUp(self):
        self.model = tempfile.NamedTemporaryFile(suffix=".Q4_1.gguf")
        self.addCleanup(self.model.close)

    def run_with(self, stand_ins, *arguments):
        """Runs the command and returns (status, text)."""
        printed, program = io.StringIO(), mock.Mock()
        program.name = "stand-in"
        with contextlib.ExitStack() as stack:
            for stand_in in (mock.patch.object(programs, "Peer", return_value=program),
                             mock.patch.object(programs, "Tandem", return_value=program),
                             mock.patch.object(contacts, "Contacts", return_value=stand_ins),
                             mock.patch.object(first_contact.signal, "signal"),
                             contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO())):
                stack.enter_context(stand_in)
            try:
                status = first_contact.main(["--models", self.model.name, "--tandem", sys.executable, "--dialogue",
                                             sys.executable, *arguments])
            except SystemExit as end:
                status = end.code
        return status, printed.getvalue()

    def test_every_row_is_judged_and_the_status_is_0_when_all_are_met(self):
        status, text = self.run_with(StandIns(), "--lengths", "4")
        self.assertEqual(status, 0, text)
        for part in ("| the peer -0.950 s | ≤ the peer + 0.5 s | met |", "| 1.000 x warm | ≥ 0.5 | met |",
                     "| 1.050 x warm, worst 1.050, 4 of 4 met | ≤ 1.1 for each | met |",
                     "| 0.700 x the peer | ≤ 0.7 | met |",
                     "| 0.500 x the peer | ≤ 1 | met |", "new depth", "smollm2-360m of Q4_1"):
            self.assertIn(part, text)
        self.assertNotIn(MISSED, text)

    def test_a_length_that_was_never_run_is_slower_only_where_the_folder_has_not_seen_it(self):
        status, text = self.run_with(StandIns(new_seconds=1.2), "--only", "new-length", "--lengths", "2")
        self.assertEqual(status, 1)
        self.assertIn("| 1.200 x warm, worst 1.200, 0 of 2 met | ≤ 1.1 for each | missed |", text)
        self.assertEqual(text.count("| 1.200 | 1.000 | 2.000 | 1.200 | 0.600 |"), 2, "once for each length")

    def test_lengths_are_none_that_the_machine_knows(self):
        stand_ins = StandIns()
        with mock.patch.object(lines, "random_lengths", return_value=[20, 90]):
            self.run_with(stand_ins, "--only", "new-length", "--lengths", "2")
        known = {len(prompt) for _, prompt in stand_ins.runs} - {20, 90}
        self.assertEqual(known, {21, 91, 300, 700})

    def test_what_fails_is_a_missed_target_and_the_other_rows_go_on(self):
        stand_ins = StandIns()
        stand_ins.peer_dialogue = mock.Mock(side_effect=processes.Failed("llama-completion ended with status 1"))
        status, text = self.run_with(stand_ins, "--only", "dialogue,never-run", "--rounds", "1")
        self.assertEqual(status, 1)
        self.assertIn("missed, it failed", text)
        self.assertIn("llama-completion ended with status 1", text)
        self.assertIn("never run here", text)

    def test_json_has_every_sample_and_neither_holds_a_path(self):
        _, text = self.run_with(StandIns(), "--only", "new-depth", "--rounds", "2", "--json")
        tree = json.loads(text)
        self.assertEqual(tree["details"][0]["samples"][0], {"new": [1.05] * 2, "warm": [1.0] * 2, "peer": [2.0] * 2})
        self.assertEqual([line["verdict"] for line in tree["lines"]], [MET, MET])
        self.assertNotIn(os.path.dirname(self.model.name) + "/", text)

    def test_wrong_usage_ends_with_2(self):
        for arguments in (["--only", "everything"], ["--rounds", "0"], ["--lengths", "0"], ["--lengths", "999"],
                          ["--models", "missing.gguf"], ["--dialogue", "missing"], ["--unknown"]):
            status, _ = self.run_with(StandIns(), *arguments)
            self.assertEqual(status, 2, arguments)


if __name__ == "__main__":
    unittest.main()
