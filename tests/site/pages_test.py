"""Tests of site/markdown.py and site/pages.py."""

import ast
import pathlib
import shutil
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "site"))
import headers  # noqa: E402
import markdown  # noqa: E402
import pages  # noqa: E402
import python_reference  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]


class Lists(unittest.TestCase):
    def test_that_follow_a_paragraph_get_a_blank_line(self):
        self.assertEqual(markdown.with_lists("It has\n- one\n- two\n"), "It has\n\n- one\n- two\n")

    def test_behind_a_blank_line_stay(self):
        self.assertEqual(markdown.with_lists("It has\n\n- one\n"), "It has\n\n- one\n")

    def test_within_lists_are_indented_by_four(self):
        self.assertEqual(markdown.with_lists("- one\n  - inner\n- two"), "- one\n    - inner\n- two")

    def test_keep_the_lines_of_an_item_together(self):
        self.assertEqual(markdown.with_lists("1. one\n  and more\n\nThen"), "1. one\n    and more\n\nThen")

    def test_leave_code_as_it_is(self):
        code = "Run\n\n    a - b\n    - c\n\nThen"
        self.assertEqual(markdown.with_lists(code), code)


class Links(unittest.TestCase):
    TITLES = {"plans.md": "Plans", "measured/peers.md": "Beside llama.cpp"}

    def linked(self, text, page="index.md"):
        return markdown.with_links(text, page, self.TITLES)

    def test_have_the_title_of_their_page(self):
        self.assertEqual(self.linked("see `docs/plans.md`."), "see [Plans](plans.md).")

    def test_lead_out_of_a_folder_and_into_one(self):
        self.assertEqual(self.linked("`docs/plans.md`", "measured/peers.md"), "[Plans](../plans.md)")
        self.assertEqual(self.linked("`docs/measured/peers.md`"), "[Beside llama.cpp](measured/peers.md)")

    def test_are_not_made_in_code_of_unknown_pages_or_of_the_page_itself(self):
        for text in ("    see `docs/plans.md`", "`docs/other.md`"):
            self.assertEqual(self.linked(text), text)
        self.assertEqual(self.linked("`docs/plans.md`", "plans.md"), "`docs/plans.md`")


class Sections(unittest.TestCase):
    def test_are_those_of_the_second_level(self):
        self.assertEqual(markdown.sections_of("# A\nfirst\n## B\nb\n### C\nc\n## D\n"),
                         {"": "# A\nfirst\n", "B": "## B\nb\n### C\nc\n", "D": "## D\n"})


class Menu(unittest.TestCase):
    MENU = "nav:\n  - One: one.md\n  - Reference: [COMMANDS]\n"

    def test_names_each_command(self):
        menu = pages.menu_with(self.MENU, ["reference/index.md", "reference/run.md"])
        self.assertIn("      - All of them: reference/index.md\n      - run: reference/run.md", menu)

    def test_must_have_each_page(self):
        with self.assertRaisesRegex(SystemExit, "in no menu of site/mkdocs.yml: two.md"):
            pages.require_a_way_to_each({"one.md": "", "two.md": ""}, self.MENU)

    def test_must_name_pages_that_are_there(self):
        with self.assertRaisesRegex(SystemExit, "missing: one.md"):
            pages.require_a_way_to_each({}, self.MENU)


class Server(unittest.TestCase):
    DOCUMENT = {"paths": {
        "/v1/things": {"post": {"summary": "Things.", "requestBody": {"content": {"application/json": {"schema": {
            "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 16},
                           "stop": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
                           "user": {"description": "Has no effect here."}},
            "required": ["n"]}}}}}},
        "/metrics": {"get": {"summary": "Counters.", "x-metrics": [{"name": "tandem_a", "type": "gauge", "help": "As."}]}}}}

    def test_has_a_heading_for_each_route_and_a_row_for_each_member(self):
        text = dict(pages.pages_of_server(self.DOCUMENT))["reference/http.md"]
        self.assertIn("## POST /v1/things\n\nThings.\n", text)
        self.assertIn("| `n` | integer from 1 to 16 | needed.  |\n", text)
        self.assertIn("| `stop` | string or list of string |  |\n", text)
        self.assertIn("| `user` | any value | Has no effect here. |\n", text)
        self.assertIn("## GET /metrics\n", text)

    def test_has_a_row_for_each_metric(self):
        text = dict(pages.pages_of_server(self.DOCUMENT))["reference/metrics.md"]
        self.assertTrue(text.endswith("| --- | --- | --- |\n| `tandem_a` | gauge | As. |\n"))


class Papers(unittest.TestCase):
    def test_are_the_rows_of_all_tables_of_parts(self):
        docs = {f"{system}.md": f"# {system}\n| id | part |\n| --- | --- |\n| H{i} | a |\n| H1, H2 | b |\n| no | c |\n"
                for i, system in enumerate(pages.SYSTEMS)}
        ((name, text),) = pages.page_of_papers(docs)
        self.assertEqual(name, "papers.md")
        self.assertIn("| H3 | a |\n| H1, H2 | b |\n", text)
        self.assertNotIn("| no |", text)

    def test_without_a_table_are_an_error(self):
        with self.assertRaisesRegex(SystemExit, "docs/heterollm.md has no table of parts"):
            list(pages.page_of_papers({f"{system}.md": "# none" for system in pages.SYSTEMS}))


class PythonReference(unittest.TestCase):
    SOURCE = """
class Box:
    \"\"\"Holds things.\"\"\"
    size: int
    _hidden: int
    def put(self, what: str, *, times: int = 1) -> None:
        \"\"\"Adds one.\"\"\"
    @property
    def full(self) -> bool:
        \"\"\"Whether it is.\"\"\"
    @full.setter
    def full(self, full: bool) -> None: ...
    @overload
    def put(self, what: int) -> None: ...
    def _own(self): ...
"""

    def test_has_signatures_types_and_docstrings(self):
        text = python_reference.text_of("tandem.", ast.parse(self.SOURCE).body[0])
        self.assertEqual(text, "\n## tandem.Box\n\nHolds things.\n\n| member | type |\n| --- | --- |\n| `size` | `int` |\n"
                               "\n### Box.put\n\n    Box.put(what: str, *, times: int=1) -> None\n\nAdds one.\n"
                               "\n### Box.full\n\n    Box.full: bool\n\nWhether it is.\n")

    def test_has_a_heading_for_each_public_name_and_no_name_without_words(self):
        text = python_reference.page_of_python(str(ROOT))
        names = python_reference.public_names(dict(python_reference.trees_of(str(ROOT))))
        self.assertGreater(len(names), 20)
        for name in [*(f"tandem.{name}" for name in names), "tandem.npu.gemm", "tandem.npu.Product"]:
            self.assertIn(f"\n## {name}\n", text)
        self.assertIn("\n### Model.eval\n\n    Model.eval(ids: Ids) -> Logits\n", text)
        self.assertNotIn("\nNone\n", text)


class Headers(unittest.TestCase):
    def test_have_comments_that_doxygen_reads(self):
        text = "// A box.\nstruct Box {\n  int size = 0;  // of it\n  // Adds.\n  void put();\n};\n/* In C.\n * More. */\nint f(void); /* x */\n"
        self.assertEqual(headers.with_marks(text),
                         "/// A box.\nstruct Box {\n  int size = 0;  ///< of it\n  /// Adds.\n  void put();\n};\n"
                         "/** In C.\n * More. */\nint f(void); /**< x */\n")

    def test_without_doxygen_are_a_page_that_says_so(self):
        with unittest.mock.patch("shutil.which", return_value=None):
            self.assertIn("doxygen was not installed", headers.page_of_interface("x", "y"))

    @unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed")
    def test_have_rows_for_public_members(self):
        with tempfile.TemporaryDirectory() as folder:
            include = pathlib.Path(folder, "root", "include", "tandem")
            include.mkdir(parents=True)
            (include / "box.h").write_text(
                "// About.\n#pragma once\nnamespace tandem {\n// Holds \\things.\nclass Box {\n public:\n  ~Box();\n  Box(const Box&) = delete;\n"
                "  // Adds one.\n  void put(std::vector<int> what);\n  int size = 0;  // of it\n private:\n  int own_;\n};\n"
                "// Of boxes.\nenum class Kind { small, large };\n// Opens it.\nBox open(Kind kind);\n}\n")
            text = headers.page_of_interface(str(pathlib.Path(folder, "root")), str(pathlib.Path(folder, "made")))
        self.assertIn("## tandem/box.h\n", text)
        self.assertIn("| `Box open(Kind kind)` | Opens it. |\n", text)
        self.assertIn("| `enum Kind: small, large` | Of boxes. |\n", text)
        self.assertIn("### Box\n\nHolds \\things.\n\n| member | |\n| --- | --- |\n| `void put(std::vector<int> what)` | Adds one. |\n"
                      "| `int size` | of it |\n", text)
        for left_out in ("own_", "~Box", "delete"):
            self.assertNotIn(left_out, text)


if __name__ == "__main__":
    unittest.main()
