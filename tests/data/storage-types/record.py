#!/usr/bin/env python3
"""Writes values.txt: checksums of the values of pseudo-random blocks of every storage type with blocks.

The package `gguf` decodes the blocks; numpy does for the types that it cannot decode. tests/engine/tensor/published_values_test.cpp makes the same blocks, decodes them
with Tandem and compares. There are so many that every number of a lattice's point and every scale occurs.

Run it by hand: python3 record.py >values.txt
"""
import gguf
import numpy
from gguf import quants

BLOCKS = 2048
# The high bytes of halves, whose topmost bit of the exponent is cleared: no half is infinite or no number. The scale of
# MXFP4 is a byte of its own, which is NaN at 255.
HIGH_BYTES = {
    "Q4_0": [1], "Q4_1": [1, 3], "Q5_0": [1], "Q5_1": [1, 3], "Q8_0": [1], "Q2_K": [81, 83], "Q3_K": [109],
    "Q4_K": [1, 3], "Q5_K": [1, 3], "Q6_K": [209], "IQ4_NL": [1], "IQ4_XS": [1], "IQ3_S": [1], "IQ3_XXS": [1],
    "IQ2_S": [1], "IQ2_XS": [1], "IQ2_XXS": [1], "IQ1_M": [55], "IQ1_S": [1], "TQ2_0": [65], "TQ1_0": [53],
    "MXFP4": [0], "NVFP4": [], "Q2_0": [1], "Q1_0": [1],
}
# Types that the package cannot decode, or does not know: number, bytes of a block, values of blocks.
OTHERS = {
    "Q2_0": (42, 18, lambda halves, bytes_: halves * (pieces(bytes_, 2) - 1)),
    "Q1_0": (41, 18, lambda halves, bytes_: halves * (2 * pieces(bytes_, 1) - 1)),
}


def pieces(bytes_, bits):
    """The numbers of so many bits in each byte, from the lowest bits on."""
    parts = [bytes_ >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)]
    return numpy.stack(parts, axis=-1).reshape(len(bytes_), -1).astype(numpy.float32)


def random_bytes(count, seed):
    """The top bytes of a linear congruential generator's states."""
    state, out = seed, bytearray()
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        out.append(state >> 24)
    return numpy.frombuffer(bytes(out), dtype=numpy.uint8).copy()


def checksum(values):
    """FNV-1a over words of 32 bits."""
    result = 0xCBF29CE484222325
    for word in values.astype(numpy.float32).view(numpy.uint32).ravel().tolist():
        result = (result ^ word) * 0x100000001B3 % 2**64
    return result


def main():
    for name, places in HIGH_BYTES.items():
        if name in OTHERS:
            kind, size, values = OTHERS[name]
        else:
            kind = gguf.GGMLQuantizationType[name]
            size = gguf.GGML_QUANT_SIZES[kind][1]
        blocks = random_bytes(BLOCKS * size, int(kind)).reshape(BLOCKS, size)
        for place in places:
            blocks[:, place] &= 0xBF
        if name in OTHERS:
            halves = blocks[:, :2].copy().view(numpy.float16).astype(numpy.float32)
            decoded = values(halves, blocks[:, 2:])
        else:
            decoded = quants.dequantize(blocks, kind)
        print(name, BLOCKS, f"{checksum(decoded):016x}")


if __name__ == "__main__":
    main()
