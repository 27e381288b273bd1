// y[s, n] = sum over k of w[n, k] * x[s, k] with 8-bit packed weights, for GPUs (simt family).
// kernels: matmul_small_batch matmul_small_batch_wide matmul_gemm grouped_small_batch grouped_small_batch_wide grouped_gemm
//
// Layout: the quants of a tile are int8 at k*64 + r; packed_tiles.glsl has the rest.
// Work mapping and limits: matmul_simt.glsl. K is a multiple of 32 (of 256 with SUPER).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "limits.h"

BUFFER(0, uint, w);

#define QUANT_WORDS 512u
#define QUANT(quants, column, r) signed_byte_at(quants, (column) * 64u + (r))
#include "packed_tiles.glsl"
#include "packed_simt.glsl"
#include "matmul_args.glsl"
#include "gemm_tile.glsl"
#include "product_runs.glsl"
#include "runs_at_once.glsl"
#include "matmul_simt.glsl"
