// y[s, n] = sum over k of w[n, k] * x[s, k] with 4-bit packed weights, for GPUs (simt family).
// kernels: matmul_small_batch matmul_small_batch_wide matmul_gemm grouped_small_batch grouped_small_batch_wide grouped_gemm
//
// Layout: byte (k/2)*64 + r%16*4 + r/16 of a tile's quants holds q(k) in the low and q(k+1) in the high nibble;
//   packed_tiles.glsl has the rest.
// Work mapping and limits: matmul_simt.glsl. K is a multiple of 32 (of 256 with SUPER).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "limits.h"

BUFFER(0, uint, w);

#define QUANT_WORDS 256u
#define QUANT(quants, column, r) nibble_at(quants + (column) / 2u * 16u + (r) % 16u, 8u * ((r) / 16u) + (column) % 2u * 4u)
float nibble_at(uint at, uint bit) { return float((w[at] >> bit) & 15u); }
#include "packed_tiles.glsl"
#include "packed_simt.glsl"
#include "matmul_args.glsl"
#include "gemm_tile.glsl"
#include "product_runs.glsl"
#include "runs_at_once.glsl"
#include "matmul_simt.glsl"
