"""The reference of the Python package, made of its docstrings. The sources are read, and nothing is imported."""

import ast
import os

PUBLIC = ("__init__.py", "_model.py", "_planner.py", "_reports.py", "_errors.py", "npu.py")


def trees_of(root):
    for name in PUBLIC:
        with open(os.path.join(root, "python", "tandem", name), encoding="utf-8") as file:
            yield name, ast.parse(file.read())


def public_names(trees):
    """`__all__`, and what tandem.npu has."""
    for node in trees["__init__.py"].body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return [name for name in ast.literal_eval(node.value) if name != "npu"]
    raise ValueError("the package has no __all__")


def signature(function, hides_self):
    arguments = function.args
    if hides_self:
        arguments = ast.arguments(posonlyargs=[], args=arguments.args[1:], vararg=arguments.vararg,
                                  kwonlyargs=arguments.kwonlyargs, kw_defaults=arguments.kw_defaults,
                                  kwarg=arguments.kwarg, defaults=arguments.defaults)
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"({ast.unparse(arguments)}){result}"


def marks_of(function):
    return {ast.unparse(each) for each in function.decorator_list}


def members_of(node):
    """(name, signature, docstring) of the public members of a class, and its fields."""
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_") and "overload" not in marks_of(member):
            marks = marks_of(member)
            if any(mark.endswith(".setter") for mark in marks):
                continue
            if "property" in marks:
                yield member.name, f": {ast.unparse(member.returns)}", ast.get_docstring(member)
            else:
                yield member.name, signature(member, "staticmethod" not in marks), ast.get_docstring(member)
        elif isinstance(member, ast.AnnAssign) and not member.target.id.startswith("_"):
            yield member.target.id, f": {ast.unparse(member.annotation)}", None


def text_of(prefix, node):
    """A heading and what stands below it."""
    if isinstance(node, ast.FunctionDef):
        return f"\n## {prefix}{node.name}\n\n    {prefix}{node.name}{signature(node, False)}\n\n{ast.get_docstring(node)}\n"
    text = f"\n## {prefix}{node.name}\n\n{ast.get_docstring(node)}\n"
    fields, others = [], []
    for name, kind, says in members_of(node):
        (fields if says is None else others).append((name, kind, says))
    if fields:
        text += "\n| member | type |\n| --- | --- |\n"
        text += "".join(f"| `{name}` | `{kind[2:]}` |\n" for name, kind, _ in fields)
    for name, kind, says in others:
        text += f"\n### {node.name}.{name}\n\n    {node.name}.{name}{kind}\n\n{says}\n"
    return text


def page_of_python(root):
    trees = dict(trees_of(root))
    found = {node.name: node for name, tree in trees.items() if name != "npu.py" for node in tree.body
             if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    names = public_names(trees)
    text = f"# The Python package by names\n\n{ast.get_docstring(trees['__init__.py'])}\n\n`docs/python.md` explains it.\n"
    text += "".join(text_of("tandem.", found[name]) for name in names)
    for node in trees["npu.py"].body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            text += text_of("tandem.npu.", node)
    return text
