"""Many texts at once beside the peer: reading both programs' output, and the table."""

import json
import unittest

import batched
from processes import Failed


def rows(*widths):
    return [{"pl": width, "speed_pp": 100.0 * width, "speed_tg": 10.0 * width, "speed": 50.0} for width in widths]


class Rows(unittest.TestCase):
    def test_come_as_an_array_or_a_line_each(self):
        wanted = {1: (100.0, 10.0, 50.0), 4: (400.0, 40.0, 50.0)}
        self.assertEqual(batched.rows_in(json.dumps(rows(1, 4))), wanted)
        lines = "main: n_kv_max = 64\n" + "\n".join(json.dumps(row) for row in rows(1, 4)) + "\n\nperf: 1 ms\n"
        self.assertEqual(batched.rows_in(lines), wanted)

    def test_that_are_no_json_are_an_error(self):
        with self.assertRaisesRegex(Failed, "not JSON"):
            batched.rows_in("[oops")


class Table(unittest.TestCase):
    def test_has_medians_of_ratios_within_each_round(self):
        # The ratios of reading are 2, 3 and 1, those of writing 1, 2 and 3. Width 2 beside width 1 has 4, 2 and 3.
        samples = [({1: (20, 10, 0), 2: (40, 40, 0)}, {1: (10, 10, 0), 2: (20, 40, 0)}),
                   ({1: (30, 20, 0), 2: (60, 40, 0)}, {1: (10, 10, 0), 2: (20, 20, 0)}),
                   ({1: (10, 30, 0), 2: (20, 90, 0)}, {1: (10, 10, 0), 2: (20, 30, 0)})]
        lines = batched.table(samples, [1, 2])
        self.assertEqual(lines[2], "| 1 | 20.0 | 10.0 | 2.00 | 20.0 | 10.0 | 2.00 | 1.00 |")
        self.assertEqual(lines[3], "| 2 | 40.0 | 20.0 | 2.00 | 40.0 | 30.0 | 2.00 | 3.00 |")


if __name__ == "__main__":
    unittest.main()
