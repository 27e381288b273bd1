"""The package and the examples have sound types: mypy --strict."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import tandem

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = sorted(map(str, ROOT.joinpath("examples/python").glob("*.py")))
WRONG = {
    'model.generate("Once").words': 'has no attribute "words"',
    'model.eval([1]).rows': 'has no attribute "rows"',
    'model.load_sequence(3)': "incompatible type",
    'model.generate(["Once", "Twice"]).text': 'has no attribute "text"',
    'tandem.Model.load("x.gguf", layers=3)': "Unexpected keyword argument",
    'model._model.rewind(1)': 'has no attribute "rewind"',
}
RIGHT = ['model.generate("Once").text.upper()', 'model.generate(["Once", "Twice"])[0].ids',
         'model.generate([{"role": "user", "content": "x"}]).text', 'model.sequence().extend([1]).argmax()']

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed (./dev setup python)")


@pytest.fixture(scope="session")
def checked(tmp_path_factory):
    cache = tmp_path_factory.mktemp("mypy")

    def check(*what):
        package = str(pathlib.Path(tandem.__file__).parents[1])
        said = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), *what],
                              env={**os.environ, "MYPYPATH": package}, cwd=cache, capture_output=True, text=True)
        return said.returncode, said.stdout + said.stderr

    return check


def test_the_package_is_sound(checked):
    status, said = checked("-p", "tandem")
    assert status == 0, said


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: pathlib.Path(path).stem)
def test_an_example_is_sound(checked, example):
    assert checked(example)[0] == 0, checked(example)[1]


def test_mistakes_are_found(checked, tmp_path):
    file = tmp_path / "wrong.py"
    lines = ["import tandem", 'model = tandem.Model.load("x.gguf")', *RIGHT, *WRONG]
    file.write_text("\n".join(lines) + "\n")
    status, said = checked(str(file))
    assert status == 1 and f"Found {len(WRONG)} errors" in said, said
    for line, words in enumerate(WRONG.values(), len(lines) - len(WRONG) + 1):
        assert any(f"wrong.py:{line}:" in each and words in each for each in said.splitlines()), (line, said)
