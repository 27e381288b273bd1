"""The types of the extension module are those of the binding."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python" / "module"))
import stubs  # noqa: E402


def test_the_stub_is_what_the_binding_says():
    kept = (ROOT / "python" / "tandem" / "_tandem.pyi").read_text(encoding="utf-8")
    assert kept == stubs.stub(), "python3 python/module/stubs.py >python/tandem/_tandem.pyi makes it"


@pytest.mark.parametrize("said, kind", [
    ("List[int]", "list[int]"), ("Tuple[List[int], List[str]]", "tuple[list[int], list[str]]"), ("dict", "dict[str, Any]"),
    ("Optional[tandem._tandem.Machine]", "Optional[Machine]"), ("tandem._tandem.Machine | None", "Optional[Machine]"),
    ("collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]", "list[int]"),
    ("Optional[function]", "Optional[Callable[..., Any]]"), ("None", "None")])
def test_types_of_signatures_are_those_of_python(said, kind):
    assert stubs.type_of(said) == kind


def test_what_is_no_signature_is_refused():
    for wrong in ("text", "call(x: std::vector<int>) -> None", "call(x: int | str) -> None"):
        with pytest.raises(ValueError, match="no (type|signature)"):
            stubs.line_of("call", wrong)
