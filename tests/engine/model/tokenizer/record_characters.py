"""Writes engine/model/tokenizer/bert_tables.cpp: record_characters.py FILE.

What BERT's tokenizer does with each character comes from PyPI's `tokenizers`, by hand: every code point is normalised
and split alone, between two letters. The tables hold what differs from "keep it"."""

import sys

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic (BertCharacters)
WIDTH = 118


def observed():
    """{code point: text} cased and in lower case, and the code points that split a word."""
    def normalised(lowercase):
        normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=lowercase)
        return {c: normalizer.normalize_str("a" + chr(c) + "b")[1:-1] for c in points}

    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    splitter = BertPreTokenizer()
    return normalised(False), normalised(True), {c for c in points if len(splitter.pre_tokenize_str("a" + chr(c) + "b")) == 3}


def ranges(points):
    found = []
    for c in sorted(points):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def runs(one):
    """[first, last, step, difference]: code points whose lower case is as far away, next to each other or every second."""
    left, found = dict(one), []
    while left:
        first = min(left)
        difference, best = left[first] - first, (1, 1)
        for step in (1, 2):
            count = 1
            while left.get(first + count * step, -1) == first + count * step + difference:
                count += 1
            if step == 2 and any(left.get(first + 2 * k + 1, -1) == first + 2 * k + 1 + difference for k in range(count - 1)):
                count = 1
            if count > best[0]:
                best = count, step
        count, step = best
        found.append((first, first + (count - 1) * step, step, difference))
        for k in range(count):
            del left[first + k * step]
    return sorted(found)


def rows(items):
    lines, line = [], "     "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH:
            lines.append(line)
            line = "     "
        line += " " + item + ","
    return "\n".join(lines + [line])


def function(kind, name, items):
    return f"const std::vector<{kind}>& {name}() {{\n  static const std::vector<{kind}> all = {{\n{rows(items)}\n  }};\n  return all;\n}}\n"


def main(path):
    cased, lower, punctuation = observed()
    fold = {c: lower[c].strip() for c in lower if lower[c].strip() != cased[c].strip()}
    text = ["// The tables of BertCharacters. tests/engine/model/tokenizer/record_characters.py wrote this file.\n// clang-format off\n"
            '#include "engine/model/tokenizer/bert_characters.h"\n\nnamespace tandem::bert_characters {\n']
    for name, points in (("removed", [c for c in cased if cased[c] == ""]),
                         ("ideographs", [c for c in cased if cased[c] == f" {chr(c)} "]), ("punctuation", punctuation),
                         ("marks", [c for c in fold if fold[c] == ""])):
        text.append(function("Range", name, [f"{{0x{a:X}, 0x{b:X}}}" for a, b in ranges(points)]))
    single = {c: ord(fold[c]) for c in fold if len(fold[c]) == 1 and c not in HANGUL}
    text.append(function("Fold", "folds", [f"{{0x{a:X}, 0x{b:X}, {step}, {d}}}" for a, b, step, d in runs(single)]))
    several = sorted((c, fold[c]) for c in fold if len(fold[c]) > 1 and c not in HANGUL)
    text.append(function("Parts", "parts", ['{0x%X, U"%s"}' % (c, "".join("\\x%X" % ord(x) for x in part)) for c, part in several]))
    text.append("}  // namespace tandem::bert_characters\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(text))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
