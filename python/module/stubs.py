"""Prints the types of the extension module: PYTHONPATH=build/release/python python3 python/module/stubs.py.

pybind11 begins each docstring with the function's signature. They become python/tandem/_tandem.pyi, and a test compares
that file with what this program prints. Signatures of pybind11 2 and 3 become the same words."""
from __future__ import annotations

import re
import sys
from typing import Any, Iterator

import tandem._tandem as module

HEAD = '''# Made of the binding by python/module/stubs.py, and compared with it by a test.
from typing import Any, Callable, Optional

'''
# Python's names of types, by those of pybind11.
NAMES = {"List": "list", "Tuple": "tuple", "Dict": "dict", "function": "Callable[..., Any]",
         "Callable": "Callable[..., Any]", "SupportsInt": "int", "SupportsFloat": "float",
         "object": "Any", "handle": "Any"}


def type_of(text: str) -> str:
    """A type of a signature as Python writes it: "List[int]", "tandem._tandem.Model", "int | None"."""
    text = re.sub(r"\b(?:tandem\._tandem|collections\.abc|typing)\.", "", text.strip())
    alternatives = split(text, "|")
    if len(alternatives) > 1:
        # A number is what gives one, too: pybind11 3 says so of each.
        kinds = list(dict.fromkeys(type_of(each) for each in alternatives if each != "SupportsIndex"))
        others = [each for each in kinds if each != "None"]
        if len(others) != 1:
            raise ValueError(f"no type of the stub: {text}")
        return others[0] if len(kinds) == 1 else f"Optional[{others[0]}]"
    match = re.fullmatch(r"(\w+)(?:\[(.*)\])?", text)
    if not match:
        raise ValueError(f"no type of the stub: {text}")
    name = NAMES.get(match[1], match[1])
    if match[2] is not None and name in ("Sequence", "Iterable"):  # without an element it is the module's own class
        name = "list"
    if match[2] is not None and "..." not in name:
        return f"{name}[{', '.join(type_of(each) for each in split(match[2], ','))}]"
    return {"list": "list[Any]", "dict": "dict[str, Any]"}.get(name, name)


def split(text: str, at: str) -> list[str]:
    """Parts of a text between characters that stand in no brackets."""
    parts, depth = [""], 0
    for each in text:
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(each, 0)
        if each == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += each
    return [part.strip() for part in parts if part.strip()]


def signature(doc: str) -> tuple[list[str], str]:
    """The parameters and the result of a docstring's first line."""
    match = re.fullmatch(r"\w+\((.*)\) -> (.*)", doc.split("\n")[0])
    if not match:
        raise ValueError(f"no signature: {doc!r}")
    parameters = []
    for each in split(match[1], ","):
        name, _, kind = each.partition(":")
        parameters.append("self" if name == "self" else f"{name}: {type_of(kind)}")
    return parameters, type_of(match[2])


def line_of(name: str, doc: str) -> str:
    parameters, result = signature(doc)
    return f"def {name}({', '.join(parameters)}) -> {result}: ..."


def lines_of(kind: Any) -> Iterator[str]:
    yield f"class {kind.__name__}:"
    members = {name: each for name, each in sorted(vars(kind).items())
               if name == "__init__" or not name.startswith("_")}
    if "__init__" in members and "(self:" not in (kind.__init__.__doc__ or ""):
        del members["__init__"]  # Python cannot make one
    for name, member in members.items():
        if isinstance(member, property):
            result = re.sub(r".*-> ", "", str(member.fget.__doc__).strip().split("\n")[0])
            if member.fset:
                yield f"    {name}: {type_of(result)}"
            else:
                yield "    @property"
                yield f"    def {name}(self) -> {type_of(result)}: ..."
        elif isinstance(member, staticmethod):
            yield "    @staticmethod"
            yield "    " + line_of(name, str(getattr(kind, name).__doc__))
        else:
            yield "    " + line_of(name, str(getattr(kind, name).__doc__))
    if not members:
        yield "    ..."


def stub() -> str:
    names = [name for name in sorted(vars(module)) if not name.startswith("_")]
    kinds = [getattr(module, name) for name in names if isinstance(getattr(module, name), type)]
    functions = [name for name in names if not isinstance(getattr(module, name), type)]
    text = HEAD + "\n\n".join("\n".join(lines_of(kind)) for kind in kinds) + "\n\n"
    return text + "\n".join(line_of(name, str(getattr(module, name).__doc__)) for name in functions) + "\n"


if __name__ == "__main__":
    sys.stdout.write(stub())
