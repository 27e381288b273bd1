"""Writes the pages of the site: pages.py ROOT TANDEM FOLDER.

ROOT is this repository, TANDEM its program, FOLDER gets mkdocs.yml and the folder `pages`. Pages come from README.md,
docs/, examples/ and what the program says of itself, so nothing is written twice. It ends with an error if a page is in
no menu or a menu names no page."""

import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from headers import page_of_interface  # noqa: E402
from markdown import sections_of, title_of, with_links, with_lists  # noqa: E402
from python_reference import page_of_python  # noqa: E402

SYSTEMS = ("heterollm", "npumoe", "hybrimoe", "gpu-ndp", "sdnpu")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def pages_of_docs(root):
    folder = os.path.join(root, "docs")
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith(".md"):
                path = os.path.relpath(os.path.join(place, name), folder)
                yield path, read(folder, path)


def pages_of_readme(root):
    """The README in four pages, by its sections. A section that no page takes is an error."""
    sections = sections_of(read(root, "README.md"))

    def page(title, *headings):
        return f"# {title}\n\n" + "\n".join(sections.pop(heading) for heading in headings)

    first = sections.pop("")
    yield "start.md", page("The commands", "What it can do")
    yield "library.md", page("The library", "Use as a library")
    yield "house.md", page("The house", "The floors", "Reading order", "How to add")
    yield "index.md", first + "\n" + "\n".join(sections.pop(heading) for heading in ("The one idea", "Steady speed", "Licence"))
    if sections:
        sys.exit(f"pages.py: README.md has sections that no page takes: {', '.join(sections)}")


def pages_of_examples(root):
    for page, language, folder, ending in (("examples.md", "C++", "", ".cpp"), ("examples_c.md", "C", "c", ".c"),
                                           ("examples_python.md", "Python", "python", ".py")):
        text = f"# Examples in {language}\n\nEach program is run by the tests.\n"
        place = os.path.join(root, "examples", folder)
        for name in sorted(name for name in os.listdir(place) if name.endswith(ending)):
            text += f"\n## {name}\n\n```\n{read(place, name).rstrip()}\n```\n"
        yield page, text


def page_of_headers(root):
    """The public headers as they are; the comments in them are the reference."""
    text = "# Public headers\n\nWhat `cmake --install` gives. The comments say shapes, units, ownership, threads and errors.\n"
    folder = os.path.join(root, "include", "tandem")
    for name in sorted(os.listdir(folder)):
        text += f"\n## tandem/{name}\n\n```\n{read(folder, name).rstrip()}\n```\n"
    yield "headers.md", text


def page_of_papers(docs):
    """The tables of parts of the five systems, in one."""
    text = "# The papers by their ids\n\nEvery part of the five systems, its files and how to see it at work.\n"
    for system in SYSTEMS:
        rows = re.findall(r"(?m)^\| (?:[A-Z]\d+(?:, )?)+ \|.*$", docs[f"{system}.md"])
        if not rows:
            sys.exit(f"pages.py: docs/{system}.md has no table of parts")
        text += f"\n## {title_of(docs[f'{system}.md'])}\n\n`docs/{system}.md` explains them.\n\n"
        text += "| id | part | where | see it |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    yield "papers.md", text


def pages_of_commands(tandem):
    """A page for each command, which is its help."""
    def help_of(*words):
        return subprocess.run([tandem, *words, "--help"], check=True, capture_output=True, text=True).stdout.rstrip()

    whole = help_of()
    yield "reference/index.md", f"# Commands\n\nWhat `tandem --help` says:\n\n```\n{whole}\n```\n"
    commands = re.findall(r"(?m)^  ([a-z][a-z-]*) {2,}\S", whole.split("Commands that use models:")[1].split("Environment:")[0])
    for command in commands:
        text = f"# tandem {command}\n\n```\n{help_of(command)}\n```\n"
        for part in re.findall(r"(?m)^  ([a-z][a-z-]*) {2,}\S", help_of(command).partition("Subcommands:")[2]):
            text += f"\n## tandem {command} {part}\n\n```\n{help_of(command, part)}\n```\n"
        yield f"reference/{command}.md", text


def schema_in_words(schema):
    """A JSON schema of a member, in a few words."""
    if "anyOf" in schema:
        return " or ".join(schema_in_words(each) for each in schema["anyOf"])
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {schema_in_words(schema['items'])}"
    if "minimum" in schema and "maximum" in schema:
        return f"{kind} from {schema['minimum']} to {schema['maximum']}"
    return f"\"{schema['const']}\"" if "const" in schema else kind


def pages_of_server(document):
    """The routes with their members, and the metrics, of the description that the server gives (serve --openapi)."""
    text = "# HTTP routes\n\nWhat `GET /openapi.json` says. `docs/server.md` explains it.\n"
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            text += f"\n## {method.upper()} {path}\n\n{operation['summary']}\n"
            body = operation.get("requestBody")
            if not body:
                continue
            schema = body["content"]["application/json"]["schema"]
            text += "\n| member | is | |\n| --- | --- | --- |\n"
            for name, each in schema["properties"].items():
                needed = "needed. " if name in schema["required"] else ""
                text += f"| `{name}` | {schema_in_words(each)} | {needed}{each.get('description', '')} |\n"
    yield "reference/http.md", text
    text = "# Metrics\n\nThe rows of `GET /metrics`.\n\n| name | kind | what |\n| --- | --- | --- |\n"
    for row in document["paths"]["/metrics"]["get"]["x-metrics"]:
        text += f"| `{row['name']}` | {row['type']} | {row['help']} |\n"
    yield "reference/metrics.md", text


def description_of_server(tandem):
    return json.loads(subprocess.run([tandem, "serve", "--openapi"], check=True, capture_output=True, text=True).stdout)


def menu_with(menu, commands):
    entries = "".join(f"\n      - {'All of them' if page.endswith('index.md') else os.path.basename(page)[:-3]}: {page}"
                      for page in commands)
    entries += "\n      - HTTP routes: reference/http.md\n      - Metrics: reference/metrics.md"
    return menu.replace("Reference: [COMMANDS]", "Reference:" + entries)


def require_a_way_to_each(pages, menu):
    named = set(re.findall(r"\b([\w/-]+\.md)$", menu, re.MULTILINE))
    for problem, which in (("in no menu of site/mkdocs.yml", set(pages) - named), ("missing", named - set(pages))):
        if which:
            sys.exit(f"pages.py: pages are {problem}: {', '.join(sorted(which))}")


def main(root, tandem, folder):
    docs = dict(pages_of_docs(root))
    commands = dict(pages_of_commands(tandem))
    pages = docs | dict(pages_of_readme(root)) | dict(pages_of_examples(root)) | dict(page_of_headers(root)) | commands
    pages |= dict(page_of_papers(docs)) | dict(pages_of_server(description_of_server(tandem)))
    pages |= {"reference/python.md": page_of_python(root),
              "reference/cpp.md": page_of_interface(root, os.path.join(folder, "doxygen"))}
    pages |= {"contributing.md": read(root, "CONTRIBUTING.md"), "changelog.md": read(root, "CHANGELOG.md")}
    menu = menu_with(read(root, "site", "mkdocs.yml"), commands)
    require_a_way_to_each(pages, menu)
    titles = {page: title_of(text) for page, text in pages.items()}
    shutil.rmtree(folder, ignore_errors=True)
    for page, text in pages.items():
        text = text.replace("](docs/", "](")  # links of the README
        if "```" not in text:
            text = with_lists(text)
        path = os.path.join(folder, "pages", page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(with_links(text, page, titles))
    for name in os.listdir(os.path.join(root, "docs")):
        if name.endswith((".svg", ".png")):
            shutil.copy(os.path.join(root, "docs", name), os.path.join(folder, "pages"))
    for name in ("style.css", "page.js"):
        shutil.copy(os.path.join(root, "site", name), os.path.join(folder, "pages"))
    with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as file:
        file.write(menu)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
