// y[s, n] = sum over k of w[n, k] * x[s, k] with f32, f16 or bf16 packed weights, for GPUs (simt family).
// kernels: matmul_small_batch matmul_small_batch_wide matmul_small_batch_rows matmul_gemm grouped_small_batch grouped_small_batch_wide grouped_small_batch_rows grouped_gemm
//
// Layout: element (row r of the panel, column k) at index k*64 + r, or in pieces of rows
//   (matmul_rows.glsl). Constants: ELEMENT 0 f32, 1 f16, 2 bf16.
// Work mapping and limits: matmul_simt.glsl and matmul_rows_exact.glsl. K is any number, also odd: columns past K count as zero.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "limits.h"

BUFFER(0, uint, w);
layout(constant_id = 0) const int ELEMENT = 0;

#include "matmul_args.glsl"
#include "row_place.glsl"
#include "gemm_tile.glsl"
#include "product_runs.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "glu_of.glsl"
#include "matmul_rows.glsl"

#ifdef IN_ROWS
#define HALVES (ELEMENT != 0)
#define PIECE_COLUMNS (HALVES ? 8u : 4u)
#define UNITS 1u
#define UNIT 8  // of floats only the first four are columns
#define Piece uvec4

// The piece of row r that begins with column k.
void load_piece(uint panel, uint r, uint k, out Piece next) {
  next = row_piece(panel + k / PIECE_COLUMNS * 256u, r);
}

// All columns of the piece; e is 0.
void decode(Piece piece, uint e, out float columns[UNIT]) {
  [[unroll]] for (uint j = 0u; j < 8u; ++j) {
    if (HALVES) {
      const uint half_word = piece[j / 2u] >> (16u * (j % 2u));
      columns[j] = ELEMENT == 1 ? unpackHalf2x16(half_word).x : uintBitsToFloat(half_word << 16);
    } else {
      columns[j] = j < 4u ? uintBitsToFloat(piece[j % 4u]) : 0.0;
    }
  }
}
#include "matmul_rows_exact.glsl"

#else
// Element number `index` of the panel that starts at word `panel`.
float element_at(uint panel, uint index) {
  if (ELEMENT == 0) return uintBitsToFloat(w[panel + index]);
  const uint half_word = w[panel + index / 2u] >> (16u * (index % 2u));
  return ELEMENT == 1 ? unpackHalf2x16(half_word).x : uintBitsToFloat(half_word << 16);
}

void load_columns(uint panel, uint r, uint k, uint K, out float columns[8]) {
  for (uint j = 0u; j < 8u; ++j) {
    columns[j] = 0.0;
    if (k + j < K) columns[j] = element_at(panel, element_index(k + j, r, ELEMENT == 0 ? 4u : 8u));
  }
}
#include "runs_at_once.glsl"
#include "matmul_simt.glsl"
#endif
