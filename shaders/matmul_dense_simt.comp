// y[s, n] = sum over k of w[n, k] * x[s, k] with f32, f16 or bf16 packed weights, for GPUs (simt family).
// kernels: matmul_small_batch matmul_small_batch_wide matmul_gemm grouped_small_batch grouped_small_batch_wide grouped_gemm
//
// Layout: element (row r of the panel, column k) at index k*64 + r. Constants: ELEMENT 0 f32, 1 f16, 2 bf16.
// Work mapping and limits: matmul_simt.glsl. K is any number, also odd: columns past K count as zero.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "limits.h"

BUFFER(0, uint, w);
layout(constant_id = 0) const int ELEMENT = 0;

// Element number `index` of the panel that starts at word `panel`.
float element_at(uint panel, uint index) {
  if (ELEMENT == 0) return uintBitsToFloat(w[panel + index]);
  const uint half_word = w[panel + index / 2u] >> (16u * (index % 2u));
  return ELEMENT == 1 ? unpackHalf2x16(half_word).x : uintBitsToFloat(half_word << 16);
}

void load_columns(uint panel, uint r, uint k, uint K, out float columns[8]) {
  for (uint j = 0u; j < 8u; ++j) {
    columns[j] = 0.0;
    if (k + j < K) columns[j] = element_at(panel, (k + j) * 64u + r);
  }
}
#include "matmul_args.glsl"
#include "gemm_tile.glsl"
#include "product_runs.glsl"
#include "runs_at_once.glsl"
#include "matmul_simt.glsl"
