#!/usr/bin/env python3
"""Makes the three models of mixed storage types and their golden logits (../SOURCES.md describes the files).

    python3 make.py FOLDER      needs `pip install numpy gguf`

FOLDER holds quant-TYPE.gguf, one random two-layer llama that `llama-quantize --pure` wrote in every storage type. Each
model takes its matrices from several of these files. The logits are a forward pass in float64 of the dequantised
weights. First the script compares this pass with the golden logits that lie beside the files.
"""
import json
import pathlib
import sys

import numpy as np
from gguf import GGUFReader, GGUFWriter
from gguf.quants import dequantize

MATRICES = [f"blk.{layer}.{name}.weight" for layer in (0, 1)
            for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")]
ENDS = ["token_embd.weight", "output.weight"]
QUANTISED = ["Q4_0", "F16", "Q4_1", "Q5_0", "Q2_K", "Q3_K", "Q8_0", "Q5_1", "Q4_K", "IQ4_XS", "Q6_K", "IQ4_NL", "Q5_K"]
# Nearly every type is in an attention matrix of one of `first` and `second`, and in a feed-forward matrix of the other.
# `wide` has the types that an NPU with 16-bit operands rounds.
FIRST = QUANTISED + ["Q4_0"]
SECOND = ["Q2_K", "Q3_K", "Q8_0", "Q6_K", "Q4_0", "Q5_K", "Q4_1", "IQ4_XS", "Q5_0", "IQ4_NL", "Q5_1", "Q4_K", "F16", "Q8_0"]
WIDE = ["BF16", "BF16", "F32", "BF16", "Q4_0", "Q4_0", "Q4_0", "BF16", "F32", "BF16", "Q3_K", "Q2_K", "Q2_K", "Q4_0"]
MODELS = {"first": dict(zip(MATRICES + ENDS, FIRST + ["Q6_K", "Q8_0"])),
          "second": dict(zip(MATRICES + ENDS, SECOND + ["IQ4_XS", "Q5_1"])),
          "wide": dict(zip(MATRICES + ENDS, WIDE + ["Q2_K", "Q4_0"]))}
PROMPT = [(7 * i * i + 13 * i + 3) % 512 for i in range(1200)]
# The beginning, the positions behind the sizes of an NPU's graphs, and positions beyond 1,024 tokens.
POSITIONS = sorted({*range(16), 31, 32, 33, 127, 128, 255, 256, 511, 512, 767, *range(1020, 1028), *range(1196, 1200)})


def tensors(path):
    return {t.name: t for t in GGUFReader(path).tensors}


def values(tensor):
    return dequantize(tensor.data, tensor.tensor_type).astype(np.float64).reshape(tensor.shape[::-1])


def logits(weights, ids, heads=8, kv_heads=4, epsilon=1e-5, base=10000.0):
    def norm(x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float64(np.float32(epsilon))) * weight

    def rope(x):  # [S, heads, D], neighbours are rotated
        size = x.shape[-1]
        angles = np.arange(len(x))[:, None] * base ** (-np.arange(0, size, 2) / size)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        out = np.empty_like(x)
        out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
        out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
        return out

    x = weights["token_embd.weight"][ids]
    count = len(ids)
    future = np.triu(np.full((count, count), -np.inf), 1)
    for layer in (0, 1):
        w = {name: weights[f"blk.{layer}.{name}.weight"] for name in
             ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")}
        h = norm(x, w["attn_norm"])
        q = rope((h @ w["attn_q"].T).reshape(count, heads, -1))
        k = rope((h @ w["attn_k"].T).reshape(count, kv_heads, -1)).repeat(heads // kv_heads, 1)
        v = (h @ w["attn_v"].T).reshape(count, kv_heads, -1).repeat(heads // kv_heads, 1)
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1]) + future
        share = np.exp(scores - scores.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", share, v).reshape(count, -1) @ w["attn_output"].T
        h = norm(x, w["ffn_norm"])
        gate = h @ w["ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ w["ffn_up"].T)) @ w["ffn_down"].T
    return norm(x, weights["output_norm.weight"]) @ weights["output.weight"].T


def check_the_forward_pass(folder):
    golden = json.loads((folder / "golden.json").read_text())
    for name in golden["types"]:
        weights = {n: values(t) for n, t in tensors(folder / f"quant-{name}.gguf").items()}
        expected = np.fromfile(folder / f"quant-{name}.logits.f32", np.float32).reshape(-1, 512)
        difference = np.abs(logits(weights, golden["prompt"]) - expected).max()
        print(f"quant-{name}: {difference:.1e} from its golden logits")
        assert difference < 2e-4, name


def write_model(path, reader, chosen):
    writer = GGUFWriter(path, "llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        value = {"general.name": "tandem mixed", "llama.context_length": 2048}.get(field.name, field.contents())
        writer.add_key_value(field.name, value, field.types[0], field.types[1] if len(field.types) > 1 else None)
    for name, tensor in chosen.items():
        writer.add_tensor(name, np.ascontiguousarray(tensor.data), raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Wide:
    """A matrix in F32 with the values of the half-precision file."""

    def __init__(self, tensor):
        self.data = values(tensor).astype(np.float32)
        self.shape, self.tensor_type = tensor.shape, 0


def main():
    folder, here = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent
    check_the_forward_pass(folder)
    by_type = {t: tensors(folder / f"quant-{t}.gguf") for t in QUANTISED + ["BF16"]}
    golden = {"prompt": PROMPT, "positions": POSITIONS, "models": {}}
    for model, types in MODELS.items():
        chosen = {}
        for name, tensor in by_type["F16"].items():
            wanted = types.get(name)
            chosen[name] = tensor if wanted is None else Wide(tensor) if wanted == "F32" else by_type[wanted][name]
        path = here / f"{model}.gguf"
        write_model(path, GGUFReader(folder / "quant-F16.gguf"), chosen)
        result = logits({n: values(t) for n, t in tensors(path).items()}, PROMPT)[POSITIONS]
        result.astype("<f4").tofile(here / f"{model}.logits.f32")
        golden["models"][model] = types
        print(path, path.stat().st_size, "bytes")
    (here / "golden.json").write_text(json.dumps(golden, indent=None) + "\n")


main()
