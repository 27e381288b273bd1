"""doc_names.py on documents written for it."""

import contextlib
import io
import os
import tempfile
import unittest

import doc_names


class Documents(unittest.TestCase):
    def check(self, text, tandem=None):
        """Returns (status, output) for a tree whose README is `text`."""
        with tempfile.TemporaryDirectory() as root:
            for name in ("engine/plan/cut.h", "engine/plan/cut.cpp", "tests/sync/flag_test.cpp", "dev"):
                os.makedirs(os.path.dirname(os.path.join(root, name)) or root, exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write("  bench [NAME]   run one\nTEST(Flag, is_raised_once) {}\n"
                               "struct Base { int size() const { return 1; } };\nclass Cut final : public Base { void make(); };\n"
                               "int after;\n")
            with open(os.path.join(root, "README.md"), "w", encoding="utf-8") as file:
                file.write(text)
            for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
                open(os.path.join(root, name), "w", encoding="utf-8").close()
            if tandem:
                program = os.path.join(root, "tandem")
                with open(program, "w", encoding="utf-8") as file:
                    file.write(tandem)
                os.chmod(program, 0o755)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                status = doc_names.main(root, program if tandem else None)
            return status, printed.getvalue()

    def test_what_is_there_is_found_by_name_stem_braces_and_test(self):
        text = "`engine/plan/cut.h` `engine/plan/cut` `engine/plan/cut.{h,cpp}` `engine/plan/*.cpp` `engine/NAME/` " \
               "`sync/Flag.is_raised_once` `./dev bench`"
        self.assertEqual(self.check(text)[0], 0)

    def test_files_verbs_and_tests_that_are_not_there_are_named(self):
        for code in ("engine/plan/cat.h", "engine/plan/cut.{h,cc}", "sync/Flag.is_raised_twice", "./dev fly", "bench_it"):
            status, printed = self.check(f"see `{code}`")
            self.assertEqual(status, 1, code)
            self.assertIn("README.md: no ", printed)

    def test_members_are_those_of_the_type_or_its_bases(self):
        self.assertEqual(self.check("`Cut::make()` `Cut::size()` `Base::size`")[0], 0)
        for code in ("Cut::after", "Base::make()", "Cat::make"):
            self.assertIn(f"README.md: no {code.rstrip('()')}", self.check(f"see `{code}`")[1])

    def test_indented_lines_are_read_without_their_comments(self):
        self.assertEqual(self.check("    ./dev fly\n")[0], 1)
        self.assertEqual(self.check("    ./dev bench    # not engine/plan/cat.h\n")[0], 0)

    def test_commands_and_flags_are_those_of_the_program(self):
        tandem = "#!/bin/sh\n[ \"$1\" = run ] || exit 2\necho '  -m,--model TEXT  the file'\necho '  --plan TEXT'\n"
        self.assertEqual(self.check("`tandem run -m FILE --plan x`", tandem)[0], 0)
        self.assertIn("no tandem run --plans", self.check("`tandem run --plans x`", tandem)[1])
        self.assertIn("no tandem walk", self.check("`tandem walk`", tandem)[1])

    def test_documents_that_name_nothing_are_no_success(self):
        self.assertEqual(self.check("nothing")[0], 1)


if __name__ == "__main__":
    unittest.main()
