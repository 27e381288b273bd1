// y[s, n] = sum over k of w[n, k] * x[s, k] with 4-bit packed weights, for GPUs (simt family).
// kernels: matmul_small_batch matmul_small_batch_wide matmul_small_batch_rows matmul_gemm grouped_small_batch grouped_small_batch_wide grouped_small_batch_rows grouped_gemm
//
// Layout: byte (k/2)*64 + r%16*4 + r/16 of a tile's quants holds q(k) in the low and q(k+1) in the high nibble;
//   packed_tiles.glsl has the rest, and
//   matmul_rows.glsl the pieces of rows.
// Work mapping and limits: matmul_simt.glsl and matmul_rows_exact.glsl. K is a multiple of 32 (of 256 with SUPER).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "limits.h"

BUFFER(0, uint, w);

#include "matmul_args.glsl"
#define BITS 4
#define QUANT_WORDS 256u
#define QUANT(quants, column, r)                                                                         \
  nibble_at(ROW_PIECES != 0 ? quants + (r) * 4u + (column) / 8u : quants + (column) / 2u * 16u + (r) % 16u, \
            ROW_PIECES != 0 ? (column) % 8u * 4u : 8u * ((r) / 16u) + (column) % 2u * 4u)
float nibble_at(uint at, uint bit) { return float((w[at] >> bit) & 15u); }
#include "packed_tiles.glsl"
#include "gemm_tile.glsl"
#include "product_runs.glsl"
#include "matmul_rows.glsl"
#ifdef IN_ROWS
#include "packed_rows.glsl"
#include "matmul_rows_exact.glsl"
#else
#include "packed_simt.glsl"
#include "runs_at_once.glsl"
#include "matmul_simt.glsl"
#endif
