"""Each example of examples/python runs on a model, and prints something."""
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import MODEL

EXAMPLES = sorted(pathlib.Path(__file__).parents[2].joinpath("examples/python").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example, tmp_path):
    model = os.environ.get("TANDEM_TEST_CHAT_MODEL") if example.stem == "chat" else MODEL
    if not model:
        pytest.skip("the default model is not here")
    (tmp_path / "text.txt").write_text("Once upon a time there was a dog. The dog was happy.\n" * 3)
    said = subprocess.run([sys.executable, str(example), model], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert said.returncode == 0 and said.stdout.strip(), said.stdout + said.stderr


def test_there_are_examples():
    assert len(EXAMPLES) >= 9
