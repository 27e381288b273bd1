"""docs/mutations.md lists the same mutations as the patches, and every patch applies to the tree."""

import re
import unittest
from pathlib import Path

from mutation import read_all, table
from scratch import apply

TREE = Path(__file__).resolve().parents[2]
MUTATIONS = read_all(TREE / "tests" / "mutations")
PAGE = (TREE / "docs" / "testing.md").read_text()
SOURCES = [path.read_text() for path in (TREE / "tests").rglob("*.cpp")]


class TheList(unittest.TestCase):
    def test_every_patch_applies(self):
        for mutation in MUTATIONS:
            with self.subTest(mutation.name):
                apply(mutation, TREE, only_check=True)

    def test_every_named_test_stands_somewhere(self):
        for mutation in MUTATIONS:
            for _, pattern in mutation.killers:
                name = pattern.split(".")[1].split("/")[0]
                pattern = re.compile(rf"^TEST(_F|_P)?\(\w+, {name}\)", re.MULTILINE)
                with self.subTest(mutation=mutation.name, test=name):
                    self.assertTrue(any(pattern.search(text) for text in SOURCES))

    def test_the_table_of_the_page_is_that_of_the_patches(self):
        listed = (TREE / "docs" / "mutations.md").read_text()
        self.assertEqual(table(MUTATIONS), listed, "run ./dev mutate --table >docs/mutations.md")

    def test_the_score_of_the_page_counts_every_patch(self):
        killed = re.search(r"(\d+) of (\d+) killed", PAGE)
        self.assertIsNotNone(killed)
        waiting = re.search(r"(\d+) were written since and not run", PAGE)
        unrun = int(waiting.group(1)) if waiting else 0
        self.assertEqual(int(killed.group(1)), int(killed.group(2)), "a mutation that survives wants a test")
        self.assertEqual(int(killed.group(2)) + unrun, len(MUTATIONS),
                         "run ./dev mutate and write its last line into docs/testing.md")


if __name__ == "__main__":
    unittest.main()
