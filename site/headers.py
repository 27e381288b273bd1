"""What doxygen finds in the public headers, as one page."""

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml

TITLE = "# Interface of the headers\n\n"
WITHOUT = "doxygen was not installed when this site was made, so this page is empty. The headers themselves are beside it.\n"
SETTINGS = """QUIET=YES
WARNINGS=NO
GENERATE_HTML=NO
GENERATE_LATEX=NO
GENERATE_XML=YES
XML_PROGRAMLISTING=NO
EXTRACT_ALL=YES
AUTOLINK_SUPPORT=NO
MACRO_EXPANSION=NO
INPUT=include
RECURSIVE=YES
OUTPUT_DIRECTORY=.
"""


def with_marks(text):
    """A header whose plain comments are those that doxygen reads. One behind code belongs to that line."""
    lines, inside = [], False
    for line in text.split("\n"):
        if line.lstrip().startswith(("//", "/*", "*")):
            line = line.replace("\\", "\\\\")  # a backslash would begin a command of doxygen's
        behind_code = re.match(r"(\s*\S.*?[;,{}\w]\s+)(//|/\*)(\s.*)", line)
        if not inside and behind_code and not line.lstrip().startswith(("//", "/*", "*", "#")):
            lines.append(behind_code[1] + {"//": "///<", "/*": "/**<"}[behind_code[2]] + behind_code[3])
        elif not inside and re.match(r"\s*/\*\s", line):
            lines.append(line.replace("/*", "/**", 1))
        else:
            lines.append(re.sub(r"^(\s*)//(\s|$)", r"\1///\2", line))
        inside = line.rfind("/*") > line.rfind("*/") or inside and "*/" not in line
    return "\n".join(lines)


def words_of(element):
    """The text of a description, in one paragraph a line."""
    if element is None:
        return ""
    return "\n\n".join(" ".join("".join(para.itertext()).split()) for para in element.iter("para"))


def cell(text):
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def is_shown(member):
    """Public, and neither a destructor nor a copy that is deleted."""
    arguments = member.findtext("argsstring") or ""
    return (member.get("prot") == "public" and member.get("kind") != "friend" and not arguments.endswith("=delete")
            and not member.findtext("name").startswith("~"))


def rows_of(members, within=""):
    """A row for each public member. within: the class whose name is left out."""
    for member in sorted(filter(is_shown, members), key=lambda each: int(each.find("location").get("line"))):
        name = member.findtext("definition") or f"{member.get('kind')} {member.findtext('name')}"
        name = (name + (member.findtext("argsstring") or "")).replace("tandem::", "")
        name = name.replace(f"{within}::", "") if within else name
        name = re.sub(r"< (.*?) (?=>)", r"<\1", re.sub(r"< (.*?) (?=>)", r"<\1", name))
        values = ", ".join(value.findtext("name") for value in member.iter("enumvalue"))
        says = " ".join(filter(None, (words_of(member.find("briefdescription")), words_of(member.find("detaileddescription")))))
        yield f"| `{cell(name).replace('&lt;', '<')}{': ' + values if values else ''}` | {cell(says)} |"


def header_of(element):
    return os.path.basename(element.find("location").get("file"))


def page_of(folder):
    """The page of what doxygen wrote into FOLDER/xml."""
    trees = [xml.parse(os.path.join(folder, "xml", name)).getroot().find("compounddef")
             for name in sorted(os.listdir(os.path.join(folder, "xml"))) if name.endswith(".xml") and name != "index.xml"]
    trees = [tree for tree in trees if tree is not None and tree.get("prot", "public") == "public"]
    text = TITLE + "Classes and functions, as doxygen finds them. `README.md` says what each header is for.\n"
    for header in sorted(os.listdir(os.path.join(folder, "include", "tandem"))):
        text += f"\n## tandem/{header}\n"
        free = [member for tree in trees if tree.get("kind") in ("namespace", "file") for member in tree.iter("memberdef")
                if member.get("kind") in ("function", "enum", "typedef", "variable") and header_of(member) == header]
        free = list({member.get("id"): member for member in free}.values())
        if rows := list(rows_of(free)):
            text += "\n| function, type or value | |\n| --- | --- |\n" + "\n".join(rows) + "\n"
        for tree in trees:
            if tree.get("kind") not in ("class", "struct") or header_of(tree) != header:
                continue
            name = tree.findtext("compoundname").removeprefix("tandem::")
            text += f"\n### {name}\n"
            if says := words_of(tree.find("briefdescription")) or words_of(tree.find("detaileddescription")):
                text += f"\n{cell(says)}\n"
            if rows := list(rows_of(tree.iter("memberdef"), name)):
                text += "\n| member | |\n| --- | --- |\n" + "\n".join(rows) + "\n"
    return text


def page_of_interface(root, folder):
    """Without doxygen a page that says so. folder: what doxygen reads and writes, which is removed again."""
    if not shutil.which("doxygen"):
        return TITLE + WITHOUT
    shutil.rmtree(folder, ignore_errors=True)
    source, copy = os.path.join(root, "include", "tandem"), os.path.join(folder, "include", "tandem")
    os.makedirs(copy)
    for name in os.listdir(source):
        with open(os.path.join(source, name), encoding="utf-8") as file, \
                open(os.path.join(copy, name), "w", encoding="utf-8") as out:
            out.write(with_marks(file.read()))
    subprocess.run(["doxygen", "-"], input=SETTINGS, text=True, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        return page_of(folder)
    finally:
        shutil.rmtree(folder)
