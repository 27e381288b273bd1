"""Markdown of this repository for mkdocs: a list may follow a paragraph at once, names of pages become links."""

import os
import re

ITEM = re.compile(r"( *)([-*]|\d+\.) ")


def title_of(text):
    """The first heading, or None."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else None


def is_code(line):
    return line.startswith("    ")


def with_lists(text):
    """A blank line before each list, and four blanks a level of nested items, as Python-Markdown wants them."""
    lines, inside, previous = [], False, ""
    for line in text.split("\n"):
        item = ITEM.match(line)
        if item and len(item[1]) < 4:
            if not inside and previous.strip():
                lines.append("")
            inside = True
            if item[1]:
                line = "    " + line.lstrip()
        elif line.strip() and not line.startswith(" "):
            inside = False
        elif inside and line.strip():
            line = "    " + line if line.startswith("    ") and previous.startswith("    ") else "    " + line.strip()
        lines.append(line)
        previous = line
    return "\n".join(lines)


def with_links(text, page, titles):
    """`docs/NAME.md` becomes a link to that page with its title. page: where the text stands; titles: {page: title}."""
    def link(match):
        target = match[1]
        if target not in titles or target == page:
            return match[0]
        path = os.path.relpath(target, os.path.dirname(page) or ".")
        return f"[{titles[target]}]({path})"

    def outside_code(line):
        return line if is_code(line) else re.sub(r"`docs/([\w/.-]+\.md)`", link, line)

    return "\n".join(outside_code(line) for line in text.split("\n"))


def sections_of(text):
    """{heading: text with its heading} of the headings of the second level, and the text before the first as ''."""
    parts = re.split(r"(?m)^(?=## )", text)
    found = {"": parts[0]}
    for part in parts[1:]:
        found[part[3 : part.index("\n")]] = part
    return found
