"""The model of these tests, on the host's own loops, and what the program says about it."""
import json
import os
import struct
import subprocess

import pytest

import tandem

MODEL = os.environ["TANDEM_TEST_MODEL"]
PROGRAM = os.environ["TANDEM_TEST_PROGRAM"]
ON_HOST = {"device": "host", "plan": "host-only", "act": "f32", "cache_type": "f32"}
HOST_FLAGS = ["--device", "host", "--plan", "host-only", "--act", "f32", "--cache-type", "f32"]


def program(*arguments):
    said = subprocess.run([PROGRAM, *arguments, "--json"], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def with_template(path, template):
    """Writes the tiny model with a chat template to this path. Its new part has a multiple of 32 bytes, so tensors stay
    aligned."""
    with open(MODEL, "rb") as of:
        whole = of.read()
    key, text = b"tokenizer.chat_template", template.encode()
    text += b"{#" + b" " * (-(8 + len(key) + 4 + 8 + len(text) + 4) % 32) + b"#}"
    entry = struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(text)) + text
    entries = struct.unpack_from("<Q", whole, 16)[0]
    with open(path, "wb") as out:
        out.write(whole[:16] + struct.pack("<Q", entries + 1) + entry + whole[24:])
    return str(path)


@pytest.fixture(scope="session")
def model():
    with tandem.Model.load(MODEL, **ON_HOST) as loaded:
        yield loaded


@pytest.fixture(scope="session")
def told():
    return program("run", "-m", MODEL, "-p", "Once upon a time", "-n", "24", *HOST_FLAGS)
