// y[s, n] = sum over k of w[n, k] * x[s, k] with f32, f16 or bf16 packed weights, for CPU devices (simd family).
// kernels: matmul_small_batch matmul_gemm grouped_small_batch grouped_gemm
//
// Layout: element (row r of the panel, column k) at index k*64 + r. Constants: ELEMENT 0 f32, 1 f16, 2 bf16.
// Work mapping and limits: matmul_simd.glsl. K is any number, also odd.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "limits.h"

BUFFER(0, uint, w);
layout(constant_id = 0) const int ELEMENT = 0;
layout(constant_id = 4) const int BLOCKS = 4;

#define GROUP_COLUMNS 32
#define MIN_GROUP 32
#define MAX_GROUP 32
#define COLUMN_WORDS (ELEMENT == 0 ? 64u : 32u)

struct Group {
  uint quants;
};

Group load_group(uint panel, int group, uint row) {
  Group g;
  g.quants = panel + uint(group * GROUP_COLUMNS) * COLUMN_WORDS + row / (ELEMENT == 0 ? 1u : 2u);
  return g;
}

vec4 load_column(Group g, int column, int b) {
  const uint at = g.quants + uint(column) * COLUMN_WORDS + uint(b) * (COLUMN_WORDS / 2u);
  if (ELEMENT == 0) return uintBitsToFloat(uvec4(w[at], w[at + 1u], w[at + 2u], w[at + 3u]));
  const uint first = w[at], second = w[at + 1u];
  if (ELEMENT == 1) return vec4(unpackHalf2x16(first), unpackHalf2x16(second));
  return uintBitsToFloat(uvec4(first << 16, first & 0xffff0000u, second << 16, second & 0xffff0000u));
}

void load_pair(Group g, int pair, int b, out vec4 first, out vec4 second) {
  first = load_column(g, 2 * pair, b);
  second = load_column(g, 2 * pair + 1, b);
}
#define ANY_COLUMNS  // K may end inside a group
#include "matmul_args.glsl"
#include "product_runs.glsl"
#include "matmul_simd.glsl"
