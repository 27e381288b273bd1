// y[s, n] = sum over k of w[n, k] * x[s, k] with 4-bit packed weights, for CPU devices (simd family).
// kernels: matmul_small_batch matmul_gemm grouped_small_batch grouped_gemm
//
// Layout: byte (k/2)*64 + r%16*4 + r/16 of a tile's quants holds q(k) in the low and q(k+1) in the high nibble;
//   packed_simd.glsl has the rest.
// Work mapping and limits: matmul_simd.glsl. K is a multiple of 32 (of 256 with SUPER).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "limits.h"

BUFFER(0, uint, w);

#define QUANT_WORDS 256
#include "packed_simd.glsl"
#include "code_book.glsl"

vec4 four_numbers(uvec4 codes) { return vec4(number_of(codes.x), number_of(codes.y), number_of(codes.z), number_of(codes.w)); }

// Decodes columns 2*pair and 2*pair + 1 of the group.
void load_pair(Group g, int pair, int b, out vec4 first, out vec4 second) {
  const uint at = g.quants + uint(pair) * 16u + g.row % 16u, byte = 8u * (g.row / 16u + uint(b) * 2u);
  const uvec4 rows = uvec4(w[at], w[at + 1u], w[at + 2u], w[at + 3u]) >> byte;
  first = decode(g, b, four_numbers(rows & 15u));
  second = decode(g, b, four_numbers((rows >> 4) & 15u));
}
#include "matmul_args.glsl"
#include "product_runs.glsl"
#include "matmul_simd.glsl"
