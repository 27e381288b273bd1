"""The model of these tests, on the host's own loops, and what the program says about it."""
import json
import os
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


@pytest.fixture(scope="session")
def model():
    with tandem.Model.load(MODEL, **ON_HOST) as loaded:
        yield loaded


@pytest.fixture(scope="session")
def told():
    return program("run", "-m", MODEL, "-p", "Once upon a time", "-n", "24", *HOST_FLAGS)
