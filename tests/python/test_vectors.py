"""Vectors of texts: those of the program, of models that write texts and of encoders."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import HOST_FLAGS, MODEL, ON_HOST, PROGRAM, program

import tandem

TEXTS = ["Once upon a time", "The dog was happy.", "Lily"]
ENCODER = {"schema": 1, "architecture": "bert", "layers": 2, "hidden": 64, "feed_forward": 96, "heads": 4,
           "vocabulary": 320, "context_length": 64, "pooling": "mean"}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    shape, path = folder / "shape.json", folder / "encoder.gguf"
    shape.write_text(json.dumps(ENCODER))
    subprocess.run([PROGRAM, "make-random", "--shape", shape, "--type", "F32", "-o", path], check=True, capture_output=True)
    return str(path)


def check_vectors(model, path, folder, flags, options):
    (folder / "lines").write_text("\n".join(TEXTS))
    said = program("embed", "-m", path, "-f", str(folder / "lines"), "--jsonl", *flags, *HOST_FLAGS)
    vectors = model.embed(TEXTS, **options)
    assert vectors.shape == (3, said["width"]) and vectors.dtype == np.float32 and not vectors.flags.writeable
    for mine, theirs in zip(vectors, said["data"]):
        assert np.array_equal(mine, np.array(theirs["embedding"], dtype=np.float32))
    assert np.array_equal(model.embed(TEXTS[1], **options), vectors[1])
    assert np.array_equal(model.embed([np.array(model.tokenize(TEXTS[2]))], **options)[0], vectors[2])


@pytest.mark.parametrize("flags, options", [
    ([], {}), (["--pooling", "mean", "--no-norm"], {"pooling": "mean", "normed": False})])
def test_vectors_of_a_model_that_writes_are_those_of_the_program(model, told, tmp_path, flags, options):
    check_vectors(model, MODEL, tmp_path, flags, options)
    assert model.generate("Once upon a time", predict=24).ids == told["ids"]


def test_vectors_of_an_encoder_are_those_of_the_program_and_it_writes_nothing(encoder, tmp_path):
    with tandem.Model.load(encoder, **ON_HOST) as model:
        check_vectors(model, encoder, tmp_path, [], {})
        assert np.linalg.norm(model.embed("hello")) == pytest.approx(1, abs=1e-6)
        for call in (lambda: model.generate("hello"), lambda: model.eval([5]), model.sequence):
            with pytest.raises(tandem.UsageError, match="encoder"):
                call()


def test_what_has_no_vector_is_refused(model):
    for wrong in ([], "x" * 9000, [[]], [5], [[-1]], [[10**6]], 3):
        with pytest.raises((tandem.Error, TypeError)):
            model.embed(wrong)
    with pytest.raises(tandem.UsageError, match="mean"):
        model.embed("Lily", pooling="most")


LEVELS = """
import sys, tandem
try:
    with tandem.Model.load(sys.argv[1], device="npu:0,host") as model:
        print(len(model.generate("Once", predict=3).ids))
except tandem.UsageError as error:
    print(error)
"""


@pytest.mark.parametrize("levels, out, logs", [
    ("debug", "3", True), ("info,tandem=debug", "3", True), ("", "3", False), ("off", "3", False),
    ("infoo", "TANDEM_LOG: 'infoo'", False), ("warn,", "TANDEM_LOG", False)])
def test_log_levels_are_those_of_the_program_and_a_misspelt_one_is_named(levels, out, logs):
    said = subprocess.run([sys.executable, "-c", LEVELS, MODEL], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "TANDEM_LOG": levels})
    assert out in said.stdout, said.stdout + said.stderr
    assert ("debug" in said.stderr) == logs, said.stderr
