"""The C interface through Python's ctypes: the functions that libtandem exports are those of its header, and a text is
the program's.

Usage: ctypes_suite.py LIBRARY PROGRAM MODEL ROOT
"""
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

LIBRARY, PROGRAM, MODEL, ROOT = sys.argv[1:5]


def header_functions():
    header = open(os.path.join(ROOT, "include/tandem/tandem.h"), encoding="utf-8").read()
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    return set(re.findall(r"\b(tandem_[a-z_]+)\(", code))


class Library(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm"), "nm is not installed")
    def test_exports_the_functions_of_its_header_and_no_others(self):
        listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        exported = {line.split()[2].split("@")[0] for line in listed.splitlines() if line.split()[1] != "A"}
        self.assertEqual(exported, header_functions())
        self.assertGreater(len(exported), 30)

    def test_has_a_version_that_the_header_knows(self):
        header = open(os.path.join(ROOT, "include/tandem/tandem.h"), encoding="utf-8").read()
        library = ctypes.CDLL(LIBRARY)
        self.assertEqual(str(library.tandem_abi_version()), re.search(r"ABI_VERSION (\d+)", header).group(1))

    def test_writes_what_the_program_writes(self):
        prompt = b"Once upon a time"
        said = subprocess.run([PROGRAM, "run", "-q", "-m", MODEL, "-p", prompt.decode(), "-n", "16", "--json"],
                              capture_output=True, text=True, check=True).stdout
        library = ctypes.CDLL(LIBRARY)
        library.tandem_last_error.restype = ctypes.c_char_p
        model, ids, count = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t()
        self.assertEqual(library.tandem_model_load(MODEL.encode(), None, ctypes.byref(model)), 0, library.tandem_last_error())
        self.assertEqual(library.tandem_tokenize(model, prompt, ctypes.c_size_t(len(prompt)), 1, 1, ctypes.byref(ids),
                                                 ctypes.byref(count)), 0)

        class Piece(ctypes.Structure):
            _fields_ = [("size", ctypes.c_size_t), ("id", ctypes.c_int32), ("logprob", ctypes.c_float),
                        ("text", ctypes.POINTER(ctypes.c_char)), ("bytes", ctypes.c_size_t)]

        heard = []

        @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Piece))
        def hear(_, piece):
            heard.append(piece.contents.id)
            return len(heard) == 16

        status = library.tandem_generate(model, ids, count, None, hear, None, None)
        self.assertEqual(status, 0, library.tandem_last_error())
        self.assertEqual(heard, json.loads(said)["ids"])
        library.tandem_free(ids)
        self.assertEqual(library.tandem_model_free(model), 0)
        self.assertEqual(library.tandem_model_free(model), 2)
        self.assertIn(b"freed", library.tandem_last_error())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
