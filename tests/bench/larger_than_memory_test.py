"""A file larger than the memory, beside the peer: the group of memory, reading both engines' answers, and the tables."""

import os
import tempfile
import unittest

import larger_than_memory as larger
from processes import Failed


def tandem_answer(store=True):
    prompts = {"read_bytes": 3_000_000_000}
    return {"ids": list(range(65)), "timings": {"prompt_ms": 2000, "prompt_tokens": 256, "predicted_ms": 1600},
            "expert_store": {"prompts": prompts} if store else None}


class Group(unittest.TestCase):
    def folder_of(self, root):
        entries = [os.path.join(parent, name) for parent, names, _ in os.walk(root) for name in names
                   if name.startswith("tandem-larger")]
        return entries[0] if entries else None

    def test_of_version_1_has_its_limit_in_bytes(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "memory"))
            with larger.MemoryGroup(12345, root) as group:
                folder = self.folder_of(root)
                self.assertEqual(os.path.dirname(folder), os.path.join(root, "memory"))
                with open(os.path.join(folder, "memory.limit_in_bytes"), encoding="ascii") as file:
                    self.assertEqual(file.read(), "12345")
                group.enter()
                with open(os.path.join(folder, "tasks"), encoding="ascii") as file:
                    self.assertEqual(file.read(), str(os.getpid()))
                for name in os.listdir(folder):  # a kernel's files vanish with their folder
                    os.remove(os.path.join(folder, name))
            self.assertIsNone(self.folder_of(root))

    def test_of_version_2_has_its_limit_as_the_most(self):
        with tempfile.TemporaryDirectory() as root:
            with larger.MemoryGroup(777, root) as group:
                folder = self.folder_of(root)
                with open(os.path.join(folder, "memory.max"), encoding="ascii") as file:
                    self.assertEqual(file.read(), "777")
                group.enter()
                self.assertIn("cgroup.procs", os.listdir(folder))
                for name in os.listdir(folder):
                    os.remove(os.path.join(folder, name))

    def test_that_cannot_be_made_says_so(self):
        with self.assertRaisesRegex(Failed, "no memory cgroup"):
            with larger.MemoryGroup(1, "/proc/none"):
                pass

    def test_without_a_limit_is_none(self):
        with larger.MemoryGroup(None, "/proc/none") as group:
            group.enter()


class Samples(unittest.TestCase):
    # 4 s in all, of which the text took 1.6. The first of 65 tokens belongs to the prompt.
    def test_of_tandem_have_rates_of_prompt_text_and_reads(self):
        sample = larger.sample_of_tandem(tandem_answer(), 4, 10)
        self.assertEqual((sample["prompt"], sample["text"], sample["read_gbps"]), (128, 40, 1.5))
        self.assertAlmostEqual(sample["first"], 2.4)

    def test_of_tandem_with_all_experts_read_nothing(self):
        self.assertEqual(larger.sample_of_tandem(tandem_answer(store=False), 4, 10)["read_gbps"], 0)

    def test_of_the_peer_have_its_own_counts(self):
        timings = {"prompt_n": 256, "prompt_ms": 4000, "predicted_n": 64, "predicted_ms": 32000}
        sample = larger.sample_of_peer({"timings": timings}, 40, 10)
        self.assertEqual((sample["prompt"], sample["text"], sample["first"]), (64, 2, 8))


class Tables(unittest.TestCase):
    def samples(self, *prompts):
        return [{"prompt": rate, "text": 10.0, "first": 2.0, "whole": 4.0, "peak": 3 << 20, "read_gbps": 0.0}
                for rate in prompts]

    def test_have_medians_and_no_rate_of_reads_that_were_none(self):
        lines = larger.table([("Tandem", 5 << 20, self.samples(1, 7, 3)), ("Tandem", None, self.samples(9))])
        self.assertEqual(lines[2], "| Tandem | 5 | 3.0 | 10.00 | 2.00 | 4.00 | 3 | |")
        self.assertTrue(lines[3].startswith("| Tandem | all | 9.0 |"))

    def test_end_with_ratios_of_rounds(self):
        self.assertIn("prompt 2.00, text 1.00", larger.ratios(self.samples(2, 8, 30), self.samples(1, 4, 10)))


if __name__ == "__main__":
    unittest.main()
