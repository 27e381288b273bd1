// y[s, n] = sum over k of w[n, k] * x[s, k] with 8-bit packed weights, for CPU devices (simd family).
// kernels: matmul_small_batch matmul_gemm grouped_small_batch grouped_gemm
//
// Layout: the quants of a tile are int8 at k*64 + r; packed_simd.glsl has the rest.
// Work mapping and limits: matmul_simd.glsl. K is a multiple of 32 (of 256 with SUPER).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "limits.h"

BUFFER(0, uint, w);

#define QUANT_WORDS 512
#include "packed_simd.glsl"

// Decodes columns 2*pair and 2*pair + 1 of the group.
void load_pair(Group g, int pair, int b, out vec4 first, out vec4 second) {
  const uint at = g.quants + uint(pair) * 32u + uint(b) * 8u + g.row / 4u;
  first = decode(g, b, four_signed_bytes(w[at]));
  second = decode(g, b, four_signed_bytes(w[at + 16u]));
}
#include "matmul_args.glsl"
#include "product_runs.glsl"
#include "matmul_simd.glsl"
