// y[s, n] = sum over k of w[n, k] * x[s, k] (simd family). The activations are codes (act_i8.glsl), the weights packed.
// kernels: matmul_gemm grouped_small_batch grouped_gemm matmul_gemm_dot grouped_small_batch_dot grouped_gemm_dot
//
// Contract: the runs of product_runs.glsl, over groups of GROUP columns in ascending order. Integers add up the
//   products of a group exactly. Then acc = fma(sum, scale of weights * scale of activations, acc). A minimum adds
//   acc = fma(minimum, scale of activations * sum of their codes, acc).
//   An invocation computes all runs of a row, one after the other.
// Layout: w as in matmul_i4_simt.comp (BITS 4) and matmul_i8_simt.comp (BITS 8), scales as in packed_tiles.glsl.
//   Strides of x count words.
// Work mapping: a group of 64 is a panel, an invocation a row. matmul_gemm: dimension 1 is a tile of TOKENS <= 4 tokens
//   of S. grouped_small_batch: one token (TOKENS = 1) and slot each. grouped_gemm: a tile of TOKENS choices of a matrix's
//   list (matmul_args.glsl).
//   _dot: for devices that add four products of bytes at once (VK_KHR_shader_integer_dot_product); the sums are
//   the same.
// Limits: K is a multiple of 32 (of 256 with SUPER), at most TANDEM_MAX_K on drivers that count loops. For the same
//   reason tokens are written out instead of looped over.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef KERNEL_matmul_gemm_dot
#define KERNEL_matmul_gemm
#define PACKED_DOT
#endif
#ifdef KERNEL_grouped_small_batch_dot
#define KERNEL_grouped_small_batch
#define PACKED_DOT
#endif
#ifdef KERNEL_grouped_gemm_dot
#define KERNEL_grouped_gemm
#define PACKED_DOT
#endif
#ifdef PACKED_DOT
#extension GL_EXT_spirv_intrinsics : require
#include "packed_dot.glsl"
#endif
#include "common.glsl"
#include "limits.h"
#include "act_i8.glsl"
#include "product_runs.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 4) const int BITS = 4;
layout(constant_id = 10) const int TOKENS = 1;

BUFFER(0, uint, w);
#define QUANT_WORDS (BITS == 4 ? 256u : 512u)
#include "packed_tiles.glsl"
#include "code_book.glsl"
#define X_ARE_WORDS
#include "matmul_args.glsl"

#define ZERO (MIN_KIND == 1 ? ZERO_POINT : 0)

int weight_code(uint quants, uint column, uint r) {
  if (BITS == 4) return number_of(w[quants + column / 2u * 16u + r % 16u] >> (8u * (r / 16u) + 4u * (column % 2u)) & 15u) - ZERO;
  return signed_byte(w[quants + column * 16u + r / 4u], r % 4u) - ZERO;
}

#define EACH_TOKEN(DO) DO(0) DO(1) DO(2) DO(3)
#define START(t) precise float acc##t, total##t = 0.0;
#define START_RUN(t) acc##t = 0.0;
#define END_RUN(t) total##t += acc##t;
// A place behind the list's choices of this matrix reads the last one's row and is not stored.
#if defined(GROUPED) && defined(FEW)
#define LOCATE(t) uint a##t = X_ROW(work_begin + t);
#define RESULT(t) Y_ROW(work_begin + t) + row
#define IS_THERE(t) (t < TOKENS)
#elif defined(GROUPED)
#define LOCATE(t) uint a##t = X_ROW(min(work_begin + t, work_end - 1));
#define RESULT(t) Y_ROW(work_begin + t) + row
#define IS_THERE(t) (t < TOKENS && work_begin + t < work_end)
#else
#define LOCATE(t) uint a##t = x_offset + uint(first + t) * uint(x_stride);
#define RESULT(t) y_offset + uint(first + t) * uint(y_stride) + row
#define IS_THERE(t) (t < TOKENS && first + t < S)
#endif
#define CODES_OF(t) (GROUP == 32 ? int(x[a##t + ACT_SUMS]) + int(x[a##t + ACT_SUMS + 1u]) : int(x[a##t + ACT_SUMS + g]))
#ifdef PACKED_DOT
// The code as it is stored: a code minus its zero point may not fit a byte, so the zero point is subtracted from the
// whole sum.
uint weight_byte(uint quants, uint column, uint r) {
  if (BITS == 4) return (w[quants + column / 2u * 16u + r % 16u] >> (8u * (r / 16u) + 4u * (column % 2u))) & 15u;
  return (w[quants + column * 16u + r / 4u] >> (8u * (r % 4u))) & 255u;
}
#define BEGIN_GROUP(t) int sum##t = IS_THERE(t) ? -ZERO * CODES_OF(t) : 0;
#define LOAD_CODES                                                                                                         \
  const uint stored = weight_byte(at.quants, column, r) | weight_byte(at.quants, column + 2u, r) << 8u |                   \
                      weight_byte(at.quants, column + 4u, r) << 16u | weight_byte(at.quants, column + 6u, r) << 24u;       \
  const uint codes = BITS == 4 ? numbers_of(stored) : stored;
#define ADD_PRODUCTS(t) \
  if (IS_THERE(t)) sum##t += packed_dot(codes, x[a##t + word], 0);
#else
#define BEGIN_GROUP(t) int sum##t = 0;
#define LOAD_CODES                                                                                            \
  const int code0 = weight_code(at.quants, column, r), code1 = weight_code(at.quants, column + 2u, r);              \
  const int code2 = weight_code(at.quants, column + 4u, r), code3 = weight_code(at.quants, column + 6u, r);
#define ADD_PRODUCTS(t)                                                                                                     \
  if (IS_THERE(t)) {                                                                                                        \
    const uint four = x[a##t + word];                                                                                       \
    sum##t += code0 * signed_byte(four, 0u) + code1 * signed_byte(four, 1u) + code2 * signed_byte(four, 2u) +               \
              code3 * signed_byte(four, 3u);                                                                                \
  }
#endif
#define END_GROUP(t)                                                                                                        \
  if (IS_THERE(t)) {                                                                                                        \
    const float of_x = uintBitsToFloat(x[a##t + ACT_SCALE]);                                                                \
    precise const float both = scale * of_x;                                                                                \
    acc##t = fma(float(sum##t), both, acc##t);                                                                              \
    if (MIN_KIND == 2) {                                                                                                    \
      precise const float offset = of_x * float(CODES_OF(t));                                                               \
      acc##t = fma(low, offset, acc##t);                                                                                    \
    }                                                                                                                       \
  }
#define NEXT_TILE(t) a##t += ACT_WORDS;
#define STORE(t) \
  if (IS_THERE(t)) y[RESULT(t)] = total##t;

void main() {
  const uint r = gl_LocalInvocationID.x;
  const uint first_row = uint(row_begin) + gl_WorkGroupID.x * 64u, row = first_row + r;
#ifdef GROUPED
  find_work(TOKENS);
  if (work_begin >= work_end) return;
#else
  const int first = int(gl_WorkGroupID.y) * TOKENS;
#endif
  if (row >= uint(row_end)) return;
  const uint panel = PANELS + first_row / 64u * (panel_bytes / 4u);
  EACH_TOKEN(LOCATE)
  EACH_TOKEN(START)
  const uint run_tiles = run_tiles_of(uint(K));
  uint tile = 0u;
  // trips <= 16   RUNS
  for (uint run = 0u; run < RUNS; ++run) {
    const uint end = min(first_column_of(run + 1u, run_tiles), uint(K)) / 32u;
    EACH_TOKEN(START_RUN)
    // trips <= TANDEM_MAX_K / 512 + 2   tiles: a sixteenth of them, and up to two more
    for (; tile < end; ++tile) {
      const PackedTile at = tile_at(panel, tile);
      // trips <= 2   groups of 16 or 32 columns
      for (uint g = 0u; g < GROUPS; ++g) {
        const uint entry = g * 64u + r;
        const float scale = scale_of(at, entry);
        float low = 0.0;
        if (MIN_KIND == 2) low = minimum_of(at, entry);
        EACH_TOKEN(BEGIN_GROUP)
        // trips <= 8   words of a tile
        for (uint word = g * 8u / GROUPS; word < (g + 1u) * 8u / GROUPS; ++word) {
          const uint column = word / 2u * 8u + word % 2u;
          LOAD_CODES
          EACH_TOKEN(ADD_PRODUCTS)
        }
        EACH_TOKEN(END_GROUP)
      }
      EACH_TOKEN(NEXT_TILE)
    }
    EACH_TOKEN(END_RUN)
  }
  EACH_TOKEN(STORE)
}
