#!/usr/bin/env python3
"""Runs the commands and the code of the pages on small models: README.md and docs/.

    tests/house/doc_blocks.py ROOT [PROGRAM FOLDER [PYTHON PACKAGE]]

A block is what stands behind a blank line, indented by four. It is run if it is a command of `tandem`, requests as JSON
or Python. Any other one is marked in the line before it: `<!-- not run: REASON -->`. Without PROGRAM this only looks
for blocks that are neither. Runs happen in the new FOLDER, where MODEL.gguf and the other files that pages name are
small. SHORTER replaces what would take long, and commands that name neither a device nor a plan run on the host.
Without PYTHON the blocks in Python are left out, and a line says so."""

import ast
import glob
import json
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import textwrap
import time

MARK = re.compile(r"<!-- not run: (\S.*\S) -->")
COMMAND = re.compile(r"(?:build/)?tandem |curl |source |PYTHONPATH=")
TINY = "tests/data/tiny-models/stories260K-F16.gguf"
TEMPLATE = "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}"
TEXT = "Once upon a time there was a dog. The dog was happy, and the dog ran.\n"
FILES = {
    **{name: TEXT * 3
       for name in ("a.txt", "b.txt", "long.txt", "edit.txt", "old.txt", "step.txt", "text.txt", "TEXT")},
    "lines.txt": "How do I boil an egg?\nThe dog was happy.\n",
    "prompts.jsonl": '{"prompt": "Once upon", "n_predict": 8}\n{"prompt": "The dog"}\n',
    "schema.json": '{"type": "object", "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 9}}, '
                   '"required": ["age"], "additionalProperties": false}',
    "answer.gbnf": 'root ::= "2" | "two"\n',
    "m.json": '[{"role": "user", "content": "Who is Lily?"}]',
    "t.jinja": TEMPLATE,
    "encoder.json": json.dumps({"schema": 1, "architecture": "bert", "layers": 2, "hidden": 64, "feed_forward": 96,
                                "heads": 4, "vocabulary": 320, "context_length": 64, "pooling": "mean"}),
}
# Pairs of what would take long and what stands for it. The first one is searched in a whole command.
SHORTER = [
    (r"--shape llama-3\.2-1b\b", "--shape MODEL.gguf"),
    (r"-p 512 -n 128 -d 0,1024", "-p 32 -n 8 -d 0,64 -r 1"),
    (r"-np 1,2,4,8,16$", "-np 1,2 -p 16 -n 4 -r 1"),
    (r"-p 200 -n 32", "-p 20 -n 4"),
    (r"--roofline --breakdown", "--roofline --breakdown -p 16 -n 4 -r 1"),
    (r"(tandem profile .*)", r"\1 --quick --chunk 16"),
    (r"--policies blocking,predict --rounds 500", "--device host --policies blocking,predict --rounds 10"),
    (r"(tandem bench-sync)(?!.* --(?:rounds|litmus))", r"\1 --sizes 0,10us --policies blocking,predict --rounds 10"),
    (r"^((?:build/)?tandem bench-sync )(?!.*--(?:device|plan|litmus))", r"\1--device host "),
    (r"--experts 16", "--experts 4"),
    (r"--shape deepseek-v2-lite", "--shape MIXTURE.gguf"),
    (r"--iterations 20000", "--iterations 200"),
]
FORMULAS = ("docs/numbers.md",)  # all blocks of this page are arithmetic
MIXTURE = re.compile(r"trace-moe|hybrimoe|-budget|gpu-ndp|--packed|tandem pack ")  # commands about experts


def pages(root):
    found = glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True)
    return [os.path.join(root, "README.md"), *sorted(found)]


def blocks_of(text):
    """(line, reason or None, code) of each block. A mark without a block is (line, reason, "")."""
    lines, found, mark = text.split("\n"), [], None
    i = 0
    while i < len(lines):
        begins = lines[i].startswith("    ") and (i == 0 or not lines[i - 1].strip())
        if begins or lines[i].startswith("```"):
            end = i + 1
            if begins:
                while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                    end += 1
            else:
                while end < len(lines) and not lines[end].startswith("```"):
                    end += 1
            code = textwrap.dedent("\n".join(lines[i + (not begins):end])).strip("\n")
            found.append((i + 1, mark[1] if mark else None, code))
            mark, i = None, end + (not begins)
            continue
        if lines[i].strip():
            if mark:
                found.append((mark[0], mark[1], ""))
            match = MARK.fullmatch(lines[i])
            mark = (i + 1, match[1]) if match else None
        i += 1
    return found + ([(mark[0], mark[1], "")] if mark else [])


def is_json(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def kind_of(code):
    """"shell", "json", "python", or None for what cannot be run."""
    if all(COMMAND.match(command) for command in commands_of(code)) and commands_of(code):
        return "shell"
    if all(is_json(line) for line in code.split("\n")):
        return "json"
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    calls = any(isinstance(node, ast.Attribute) for node in ast.walk(tree))
    return "python" if calls else None


def commands_of(code):
    """The commands of a block, without lines of comments and what stands behind a command."""
    lines = [re.sub(r"\s+# .*", "", line) for line in code.replace("\\\n", " ").split("\n")]
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def problems_of(root):
    for page in pages(root):
        with open(page, encoding="utf-8") as file:
            for line, reason, code in blocks_of(file.read()):
                where = f"{os.path.relpath(page, root)}:{line}"
                if not code:
                    yield f"{where}: a mark has no block behind it"
                elif reason is None and kind_of(code) is None and not where.startswith(FORMULAS):
                    yield f"{where}: a block that is not run has no mark: {code.splitlines()[0]}"


def with_template(model, to):
    """A copy of a GGUF file that has a chat template."""
    with open(model, "rb") as file:
        data = file.read()

    def string(at):
        return at + 8 + struct.unpack_from("<Q", data, at)[0]

    def value(at, kind):
        if kind == 8:
            return string(at)
        if kind != 9:
            return at + {0: 1, 1: 1, 7: 1, 2: 2, 3: 2, 10: 8, 11: 8, 12: 8}.get(kind, 4)
        inner, count = struct.unpack_from("<IQ", data, at)
        at += 12
        for _ in range(count):
            at = value(at, inner)
        return at

    tensors, entries = struct.unpack_from("<QQ", data, 8)
    at = 24
    for _ in range(entries):
        at = string(at)
        at = value(at + 4, struct.unpack_from("<I", data, at)[0])
    infos = at
    for _ in range(tensors):
        at = string(at)
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 4 + 8
    key, words = b"tokenizer.chat_template", TEMPLATE.encode()
    entry = struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(words)) + words
    head = data[:16] + struct.pack("<Q", entries + 1) + data[24:infos] + entry + data[infos:at]
    with open(to, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data[at + -at % 32:])


class Runs:
    """Blocks that run in one folder, in their order."""

    def __init__(self, root, program, folder, python=None, package=None):
        self.root, self.folder, self.python = root, folder, python
        self.left_out, self.failed, self.count = [], [], 0
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "build"))
        os.symlink(program, os.path.join(folder, "build", "tandem"))
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TANDEM_")}
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.environment.setdefault("POCL_CACHE_DIR", os.path.join(cache, "pocl", "kcache"))
        self.environment |= {"XDG_CACHE_HOME": os.path.join(folder, "cache"),
                             "PATH": os.path.join(folder, "build") + ":" + os.environ.get("PATH", "/usr/bin:/bin")}
        if python:
            self.environment["PYTHONPATH"] = package
        self.prepare()

    def prepare(self):
        for name, text in FILES.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        with_template(os.path.join(self.root, TINY), os.path.join(self.folder, "MODEL.gguf"))
        for name in ("MODEL", "model.gguf"):
            os.symlink("MODEL.gguf", os.path.join(self.folder, name))
        for command in ("tandem make-random --shape encoder.json --type F32 -o ENCODER.gguf",
                        "tandem make-moe -m MODEL.gguf --experts 4 -f text.txt -o MIXTURE.gguf",
                        "tandem trace-moe -m MIXTURE.gguf -f text.txt -o TRACE"):
            said = self.shell(command)
            if said.returncode:
                sys.exit(f"doc_blocks.py: {command}: {said.stdout}")

    def shell(self, command):
        names = re.search(r"--device|--plan|tandem devices|tandem warm", command)
        environment = self.environment if names else self.environment | {"TANDEM_DEVICE": "host"}
        return subprocess.run(["timeout", "180", "bash", "-c", command], cwd=self.folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def adapted(self, command):
        for long, short in SHORTER:
            command = re.sub(long, short, command)
        if MIXTURE.search(command):
            command = re.sub(r"\bMODEL(\.gguf)?(?=\s)", "MIXTURE.gguf", command)
        return command

    def run(self, page, line, code, kind):
        where = f"{page}:{line}"
        if kind == "shell":
            self.run_commands(where, code)
        elif kind == "json":
            with open(os.path.join(self.folder, "requests.jsonl"), "w", encoding="utf-8") as file:
                file.write(code + "\n")
            self.note(where, "tandem run -m MODEL.gguf --jsonl requests.jsonl")
        elif self.python:
            self.run_python(where, code)
        else:
            self.left_out.append(f"{where}: the Python package is not built")

    def note(self, where, command):
        """Runs one command, and prints what it took."""
        started = time.monotonic()
        said = self.shell(command)
        print(f"{where}: {time.monotonic() - started:.1f} s: {command}", flush=True)
        self.count += 1
        if said.returncode:
            self.failed.append(f"{where}: {command}: status {said.returncode}\n{said.stdout[-2000:]}")

    def run_commands(self, where, code):
        server, port, commands = None, free_port(), commands_of(code)
        if "127.0.0.1:8080" in code and not any("tandem serve" in each for each in commands):
            commands.insert(0, "tandem serve -m MODEL.gguf")  # the page's reader has one
        try:
            for command in commands:
                words = shlex.split(command)
                if re.match(r"(build/)?tandem serve", command):
                    if server:
                        end(server)
                    server = subprocess.Popen(["bash", "-c", f"exec {command} --port {port}"], cwd=self.folder,
                                              env=self.environment, stderr=subprocess.PIPE, text=True)
                    if not any(line.startswith("ready: ") for line in server.stderr):
                        self.failed.append(f"{where}: {command}: the server did not start")
                    self.count += 1
                elif words[0] == "curl" and not shutil.which("curl"):
                    self.left_out.append(f"{where}: curl is not installed")
                elif words[0].startswith("PYTHONPATH=") and not self.python:
                    self.left_out.append(f"{where}: the Python package is not built")
                else:
                    self.note(where, self.of_here(command, port))
        finally:
            if server:
                end(server)

    def of_here(self, command, port):
        command = re.sub(r"(?<=127\.0\.0\.1:)8080", str(port), self.adapted(command))
        command = re.sub(r"^curl ", "curl --fail-with-body -sS --max-time 60 ", command)
        if command.endswith("/tandem/timeline"):  # a stream without an end
            return f"{command} --max-time 1; test $? = 28"
        if command.startswith("PYTHONPATH="):
            python = f"{shlex.quote(self.python)} {shlex.quote(self.root)}"
            command = re.sub(r"^PYTHONPATH=\S+ python3 (\S+)", rf"{python}/\1", command)
        return command

    def run_python(self, where, code):
        """A block may go on with the model of the block before it, and with matrices a and b."""
        before = "import numpy as np, tandem\na = b = np.ones((4, 4))\nmodel = tandem.Model.load('model.gguf')\n"
        with open(os.path.join(self.folder, "block.py"), "w", encoding="utf-8") as file:
            file.write(before + code + "\n")
        self.note(where, f"{shlex.quote(self.python)} -B block.py")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def end(server):
    server.terminate()
    server.stderr.close()
    server.wait(20)


def main(root, program=None, folder=None, python=None, package=None):
    root = os.path.abspath(root)
    problems = list(problems_of(root))
    if problems or not program:
        print("\n".join(problems) if problems else "each block is run, or says why it is not")
        return 1 if problems else 0
    runs = Runs(root, os.path.abspath(program), os.path.abspath(folder), python, package)
    for page in pages(root):
        with open(page, encoding="utf-8") as file:
            for line, reason, code in blocks_of(file.read()):
                if reason is None and kind_of(code):
                    runs.run(os.path.relpath(page, root), line, code, kind_of(code))
    print("\n".join([*(f"left out: {each}" for each in runs.left_out), *runs.failed]))
    print(f"{runs.count} commands and blocks ran, {len(runs.failed)} failed")
    return 1 if runs.failed or not runs.count else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4, 6):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
