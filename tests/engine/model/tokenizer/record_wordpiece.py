#!/usr/bin/env python3
"""Writes tests/data/wordpiece/golden.json: texts with the ids that PyPI's `tokenizers` (0.23.3) gives, by a small vocabulary of BERT's form.

Run it by hand, in a folder for Python packages that has `tokenizers`:  python3 record_wordpiece.py > golden.json
"""

import json
import string

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

WORDS = ["hello", "world", "un", "##aff", "##able", "cafe", "naive", "##s", "the", "a", "istanbul", "##ing", "play"]
OTHER = ["ß", "ø", "ı", "σ", "##σ", "ς", "##ς", "ο", "##ο", "д", "##д", "и", "##и", "م", "##م", "中", "文", "豈", "世", "界",
         "ᄀ", "##ᅡ", "##ᆨ", "##ᄀ", "ᆨ", "क", "##क", "##ि", "##ी", "ে", "##ে", "##া", "ก", "##ำ", "€", "°", "😀", "##😀",
         "𝔘", "##️", "™", "…", "—", "“", "。", "、", "·", "¿", "₂", "##₂", "①", "fi", "##e", "ﬁ"]

TEXTS = [
    "", " ", "hello world", "Hello, WORLD!", "unaffable", "Unaffables?", "  hello\tworld\r\n\nhello  ", "café CAFÉ cafe\u0301",
    "naïve NAÏVE", "ſ", "İstanbul istanbul ISTANBUL ı", "Straße STRASSE ẞ", "Ørsted ørsted", "Σίσυφος ΣΟΣ ὈΔΥΣΣΕΎΣ", "дИ Й й", "مُم", "中文 world中文hello",
    "世界", "\uf900\uf900", "가각 한글", "कि की", "\u09cb\u09c7", "กำ", "hello\u200bworld", "hello\u00adworld", "hello\ufeffworld",
    "hello\u00a0world", "hello\u2003world\u3000hello", "a\u2028b\u2029c", "a\u0085b", "\u0000a\ufffdb", "a\ue000b", "hello😀world", "😀😀", "€5 5€ °C",
    "x+y=z <a> ^_^ `q` |p| ~t $5", "a.b-c_d/e\\f@g#h", "…—“hello”…", "。、hello·", "¿hello?", "H₂O ①", "ﬁ ﬁe", "a" * 100, "a" * 101, "hello" + "s" * 96, "z" * 3 + "\u0301" * 120,
    "##s s## #", "[unused0] [x] [CLS", "_", "don't", "l'été", "1,000.5", "𝔘𝔫", "a\u0300\u0301b\u0327", "\u0301", "e\u0301\u0301", "❤️ ™", "٣ ۴", "Ǆ ǅ ǆ", "K Å Ω", "ΐ ΰ", "ﾊﾛｰ ハロー", "Ⅷ ⅷ", "ა Ა Ⴀ", "Ꭰ ꭰ",
]


def vocabulary():
    tokens = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS
    for character in string.ascii_lowercase + string.digits:
        tokens += [character, "##" + character]
    tokens += list(string.punctuation) + OTHER
    return list(dict.fromkeys(tokens))


def main():
    tokens = vocabulary()
    tokenizer = Tokenizer(models.WordPiece({token: id for id, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    rows = {}
    for name, lowers in (("lowered", True), ("cased", False)):
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowers)
        rows[name] = [{"text": text, "ids": tokenizer.encode(text).ids} for text in TEXTS]
    print(json.dumps({"tokens": tokens, **rows}, indent=1))


if __name__ == "__main__":
    main()
