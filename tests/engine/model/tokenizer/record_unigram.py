#!/usr/bin/env python3
"""Writes tests/data/unigram/golden.json: a small Unigram vocabulary, and texts with the ids that PyPI's `sentencepiece` (0.2.3) gives.

Run it by hand in the repository's root, where Python finds `sentencepiece` and `protobuf`:
    python3 tests/engine/model/tokenizer/record_unigram.py > tests/data/unigram/golden.json
"""

import io
import json
import tempfile
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as proto

# Rules of the table of characters: what is replaced, and by what.
RULES = {"\t": " ", "\n": " ", "\r\n": " ", "\u00a0": " ", "\u3000": " ", "\u2028": " ", "\u200b": "", "\u00ad": "", "ﬁ": "fi", "ﬃ": "ffi", "…": "...",
         "e\u0301": "é", "a\u0300": "à", "Ａ": "A", "ｂ": "b", "１": "1", "①": "1", "\u212b": "\u00c5", "\u1100\u1161": "\uac00", "\u1100\u1161\u11a8": "\uac01", "ﾊ": "ハ", "㍿": "株式会社",
         "\u00b4": " \u0301", "ĳ": "ij", "№": "no", "№ 5": "five"}

TEXTS = [
    "", " ", "   ", "hello world", "Hello, WORLD!", "  two  blanks   and more  ", "a\tb\r\nc\n\nd", "x\u00a0y\u3000z", "zero\u200bwidth soft\u00adhyphen", "▁", "a▁b ▁ c▁",
    " ▁", "the devices and the plans of a machine", "unbelievable unaffordability", "tokens", "tokenstokenstokens", "a", "aa", "aaaaaaaaaaaaaaaaaaaaaaaa", "ﬁne oﬃce…",
    "cafe\u0301 voila\u0300", "Ａｂ１①", "가 각 \u1100\u1161 \u1100\u1161\u11a8", "ﾊﾛｰ", "㍿ 株", "\u00b4x \u00b4\u00b4", "ĳs", "中文 world中文hello", "日本語のテキスト", "Привет, мир", "שלום",
    "हिन्दी", "😀😀 hello 😀", "😀a😀b", "1,000.5 + 2 = 1002.5", "`code` and **bold**", "| a | b |", "https://example.org/?a=b&c=d", "ALL CAPS", "snake_case camelCase", "\u0000", "\ufffd",
    "don't can't", "é è ê ë", "x" * 200, "end. ", " .", "...", "\u0301", "A\u030a", "µ", "№ 5",
]


def trained():
    text = "\n".join(path.read_text() for path in sorted(Path("docs").glob("*.md"))) + "\n" + "\n".join(TEXTS[10:30])
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.tsv"
        rules.write_text("".join(f"{' '.join(f'{ord(c):X}' for c in old)}\t{' '.join(f'{ord(c):X}' for c in new)}\n" for old, new in RULES.items()))
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(text.split("\n")), model_writer=model, model_type="unigram", vocab_size=500, normalization_rule_tsv=str(rules), unk_id=0,
            bos_id=1, eos_id=2, num_threads=1, minloglevel=2, user_defined_symbols=["<mark>"])
    return proto.ModelProto.FromString(model.getvalue())


def main():
    model = trained()
    rows = {}
    for single in (True, False):
        for prefix in (True, False):
            model.normalizer_spec.remove_extra_whitespaces, model.normalizer_spec.add_dummy_prefix = single, prefix
            processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
            rows[f"{'single' if single else 'all'}_blanks_{'with' if prefix else 'without'}_prefix"] = [processor.encode(text) for text in TEXTS]
    print(json.dumps({
        "tokens": [piece.piece for piece in model.pieces], "scores": [piece.score for piece in model.pieces], "kinds": [piece.type for piece in model.pieces],
        "charsmap": list(model.normalizer_spec.precompiled_charsmap), "texts": TEXTS, **rows}, ensure_ascii=True, separators=(",", ":")).replace('],"', '],\n"'))


if __name__ == "__main__":
    main()
