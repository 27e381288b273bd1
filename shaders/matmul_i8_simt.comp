// y[s, n] = sum over k of w[n, k] * x[s, k] with 8-bit packed weights, for GPUs (simt family).
// kernels: matmul_small_batch matmul_small_batch_wide matmul_small_batch_rows matmul_gemm grouped_small_batch grouped_small_batch_wide grouped_small_batch_rows grouped_gemm
//
// Layout: the quants of a tile are int8 at k*64 + r; packed_tiles.glsl has the rest, and
//   matmul_rows.glsl the pieces of rows.
// Work mapping and limits: matmul_simt.glsl and matmul_rows_exact.glsl. K is a multiple of 32 (of 256 with SUPER).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "limits.h"

BUFFER(0, uint, w);

#include "matmul_args.glsl"
#include "row_place.glsl"
#include "code_book.glsl"
#define BITS 8
#define QUANT_WORDS 512u
#define QUANT(quants, column, r) signed_byte_at(quants, code_byte(column, r))
#include "packed_tiles.glsl"
#include "gemm_tile.glsl"
#include "product_runs.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "glu_of.glsl"
#include "matmul_rows.glsl"
#ifdef IN_ROWS
#include "packed_rows.glsl"
#include "matmul_rows_exact.glsl"
#else
#include "packed_simt.glsl"
#include "runs_at_once.glsl"
#include "matmul_simt.glsl"
#endif
