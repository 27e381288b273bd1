#!/usr/bin/env python3
"""Checks that the names in the documents exist: files, members of types, commands and their flags, verbs of ./dev,
tests.

    tests/house/doc_names.py ROOT [TANDEM]

A name stands in backquotes or in an indented line. Placeholders in capitals (NAME, MODEL) name nothing. Without the
program TANDEM the check leaves out its flags. Prints each missing name. The exit status is 1 if there is one."""

import glob
import os
import re
import subprocess
import sys

FOLDERS = ("bench", "cmake", "docs", "engine", "include", "kernels", "npu_emu", "packed", "shaders", "site", "sync", "tests")
ELSEWHERE = ("docs/measured/",)  # recorded output names the tree of its day


def documents(root):
    found = [os.path.join(root, name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    found += glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True)
    return [path for path in sorted(found) if not os.path.relpath(path, root).startswith(ELSEWHERE)]


def code_in(text):
    """The texts in backquotes, and lines indented by four blanks, without a comment behind '#'."""
    spans = re.findall(r"`([^`\n]+)`", text)
    return spans + [re.sub(r"\s#.*", "", line.strip()) for line in re.findall(r"^ {4}\S.*$", text, re.MULTILINE)]


def alternatives(name):
    """The four names of a/{b,c}.{h,cpp}."""
    braces = re.search(r"\{([^{}]*)\}", name)
    if not braces:
        return [name]
    heads = [name[: braces.start()] + part + name[braces.end():] for part in braces[1].split(",")]
    return [whole for head in heads for whole in alternatives(head)]


def missing_files(root, code):
    for word in re.split(r"[\s();]+", code):
        word = word.rstrip(",.:")
        if re.fullmatch(r"bench_\w+", word) and not glob.glob(os.path.join(root, "engine/app/commands", word + ".*")):
            yield f"{word}; a bench program is called by ./dev bench"
        if not re.match(rf"(?:{'|'.join(FOLDERS)})/[\w./{{}},*-]+$", word) or re.search(r"[A-Z]{3}", word):
            continue
        for name in alternatives(word):
            path = os.path.join(root, name)
            # A stem stands for its header and source.
            if not glob.glob(path) and not glob.glob(path + ".*") and not is_test(root, name):
                yield name


class Types:
    """The classes, structs and enumerations of the tree, with their bodies and bases."""

    DECLARED = re.compile(r"\b(?:class|struct|enum(?:\s+class)?|namespace)\s+(\w+)\s*(?:final\s*)?(:(?!:)[^;{]*)?\{")

    def __init__(self, root):
        self._found = {}  # name: [(bases, body)]
        for folder in FOLDERS:
            for path in glob.glob(os.path.join(root, folder, "**", "*.h"), recursive=True) + \
                    glob.glob(os.path.join(root, folder, "**", "*.cpp"), recursive=True):
                with open(path, encoding="utf-8") as file:
                    self._read(file.read())

    def _read(self, text):
        for match in self.DECLARED.finditer(text):
            bases = re.findall(r"\w+", match[2] or "")
            self._found.setdefault(match[1], []).append((bases, body_behind(text, match.end())))

    def has(self, name, member):
        return any(re.search(rf"\b{member}\b", body) or any(base != name and self.has(base, member) for base in bases)
                   for bases, body in self._found.get(name, []))


def body_behind(text, begin):
    """The text up to the brace that closes the one before `begin`."""
    depth = 1
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin:at]
    return text[begin:]


def missing_members(types, code):
    """Type::member, of types of the tree; a name with std:: or a lower-case scope is not looked up."""
    for name, member in re.findall(r"(?<![\w:])([A-Z]\w+)::(\w+)", code):
        if not re.fullmatch(r"[A-Z]+", name) and not types.has(name, member):
            yield f"{name}::{member}"


def is_test(root, name):
    """The names of tests: folder/Topic.says_what_holds."""
    match = re.fullmatch(r"([a-z_/]+)/([A-Z]\w+)\.(\w+)(?:/\w+)?", name)
    if not match:
        return False
    folder = os.path.join(root, match[1] if match[1].startswith("tests/") else "tests/" + match[1])
    wanted = re.compile(rf"TEST(?:_[FP])?\(\s*{match[2]}\s*,\s*{match[3]}\s*\)")
    for path in glob.glob(os.path.join(folder, "**", "*.cpp"), recursive=True):
        with open(path, encoding="utf-8") as file:
            if wanted.search(file.read()):
                return True
    return False


class Program:
    """The help texts of a program. Each is read once."""

    def __init__(self, path):
        self._path, self._texts = path, {}

    def help(self, *words):
        if words not in self._texts:
            result = subprocess.run([self._path, *words, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self._texts[words] = result.stdout if result.returncode == 0 else None
        return self._texts[words]


def missing_flags(tandem, code):
    match = re.match(r"(?:build/)?tandem\s+([a-z-]+)(?:\s+([a-z]+))?(.*)", code)
    if not match or match[1].startswith("-"):
        return
    words = (match[1], match[2]) if match[1] in ("npu", "spec", "history") and match[2] else (match[1],)
    text = tandem.help(*words)
    if text is None:
        yield f"tandem {' '.join(words)}"
        return
    command = re.split(r"\s[|;]|\s→", code)[0]
    for flag in re.findall(r"(?<!\S)(--?[a-zA-Z][\w-]*)", command):
        if not re.search(rf"(?:^|[\s,]){re.escape(flag)}(?![\w-])", text, re.MULTILINE):
            yield f"tandem {' '.join(words)} {flag}"


def missing_verbs(dev_help, code):
    match = re.match(r"\./dev\s+([a-z]+)", code)
    if match and not re.search(rf"^\s+{match[1]}\b", dev_help, re.MULTILINE):
        yield f"./dev {match[1]}"


def main(root, tandem=None):
    with open(os.path.join(root, "dev"), encoding="utf-8") as file:
        dev_help = file.read()
    program = Program(tandem) if tandem else None
    types = Types(root)
    names, missing = 0, []
    for path in documents(root):
        with open(path, encoding="utf-8") as file:
            pieces = code_in(file.read())
        names += len(pieces)
        for code in pieces:
            here = [*missing_files(root, code), *missing_verbs(dev_help, code), *missing_members(types, code)]
            if program:
                here += missing_flags(program, code)
            missing += [f"{os.path.relpath(path, root)}: no {name}" for name in here]
    print("\n".join(sorted(set(missing))) if missing else f"all there, of {names} pieces of code")
    return 1 if missing or not names else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
