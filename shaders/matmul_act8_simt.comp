// y[s, n] = sum over k of w[n, k] * x[s, k], for GPUs (simt family). The activations are codes (act_i8.glsl), the
// weights packed.
// kernels: matmul_small_batch matmul_small_batch_wide matmul_small_batch_rows matmul_gemm grouped_small_batch grouped_small_batch_wide grouped_small_batch_rows grouped_gemm matmul_small_batch_dot matmul_small_batch_wide_dot matmul_small_batch_rows_dot matmul_gemm_dot grouped_small_batch_dot grouped_small_batch_wide_dot grouped_small_batch_rows_dot grouped_gemm_dot matmul_gemm_emulated grouped_gemm_emulated
// compiled kernels: matmul_gemm_units grouped_gemm_units
//
// Contract: as in matmul_act8_simd.comp. The sum of a group's products is a whole number, so any invocation may
//   compute it. Invocations compute several runs of an element side by side.
// Layout: w as in matmul_i4_simt.comp (BITS 4) and matmul_i8_simt.comp (BITS 8), scales as in packed_tiles.glsl.
//   Strides of x count words.
// Work mapping: as in matmul_simt.glsl.
//   matmul_small_batch (constant TOKENS = S, at most 4), matmul_small_batch_wide: runs_at_once.glsl;
//   matmul_small_batch_rows: matmul_rows.glsl.
//   matmul_gemm: a group of 256 per 64 rows (dimension 0) and 64 tokens (dimension 1), with a tile of each in shared
//   memory. Invocation (tx, ty) of 16 x 16 has rows tx, tx+16, tx+32, tx+48 of tokens 4 ty .. 4 ty + 3.
//   grouped_small_batch: one token (TOKENS = 1) and slot each; grouped_small_batch_wide, grouped_gemm: matmul_args.glsl.
//   _dot: for devices that add four products of bytes at once (VK_KHR_shader_integer_dot_product); the sums are
//   the same.
//   _units, _emulated: matmul_units.glsl.
// Limits: groups of 256 (wide: 1,024). Shared memory: few as in runs_at_once.glsl, gemm 6 KiB (6.5 grouped). K is a
//   multiple of 32 (of 256 with SUPER), at most TANDEM_MAX_K on drivers that count loops. Rows from row_end on are
//   padding and are never written.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#if defined(KERNEL_matmul_small_batch_dot)
#define KERNEL_matmul_small_batch
#define PACKED_DOT
#elif defined(KERNEL_matmul_small_batch_wide_dot)
#define KERNEL_matmul_small_batch_wide
#define PACKED_DOT
#elif defined(KERNEL_matmul_small_batch_rows_dot)
#define KERNEL_matmul_small_batch_rows
#define PACKED_DOT
#elif defined(KERNEL_matmul_gemm_dot)
#define KERNEL_matmul_gemm
#define PACKED_DOT
#elif defined(KERNEL_grouped_small_batch_dot)
#define KERNEL_grouped_small_batch
#define PACKED_DOT
#elif defined(KERNEL_grouped_small_batch_wide_dot)
#define KERNEL_grouped_small_batch_wide
#define PACKED_DOT
#elif defined(KERNEL_grouped_small_batch_rows_dot)
#define KERNEL_grouped_small_batch_rows
#define PACKED_DOT
#elif defined(KERNEL_grouped_gemm_dot)
#define KERNEL_grouped_gemm
#define PACKED_DOT
#endif
#if defined(KERNEL_matmul_gemm_units)
#define KERNEL_matmul_gemm
#define UNITS
#elif defined(KERNEL_grouped_gemm_units)
#define KERNEL_grouped_gemm
#define UNITS
#elif defined(KERNEL_matmul_gemm_emulated)
#define KERNEL_matmul_gemm
#define UNITS
#define EMULATED
#elif defined(KERNEL_grouped_gemm_emulated)
#define KERNEL_grouped_gemm
#define UNITS
#define EMULATED
#endif
#ifdef PACKED_DOT
#extension GL_EXT_spirv_intrinsics : require
#include "packed_dot.glsl"
#endif
#if defined(UNITS) && !defined(EMULATED)
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#endif
#include "common.glsl"
#include "limits.h"
#include "act_i8.glsl"

layout(constant_id = 4) const int BITS = 4;
BUFFER(0, uint, w);
#define QUANT_WORDS (BITS == 4 ? 256u : 512u)
#include "packed_tiles.glsl"
#include "code_book.glsl"
#define X_ARE_WORDS
#include "matmul_args.glsl"
#include "row_place.glsl"
#include "gemm_tile.glsl"
#include "product_runs.glsl"
#include "runs_at_once.glsl"
#include "quotient.glsl"
#include "exp.glsl"
#include "glu_of.glsl"
#include "matmul_rows.glsl"
#define ZERO (MIN_KIND == 1 ? ZERO_POINT : 0)
#define WORDS_OF_GROUP (8u / GROUPS)

// The even and the odd columns of eight 4-bit codes: the numbers of a code book, or codes as they are stored. A code minus
// its zero point may not fit a byte, so the zero point is subtracted from a whole sum.
uvec2 words_of_codes(uint eight) { return uvec2(numbers_of(eight & 0x0f0f0f0fu), numbers_of(eight >> 4 & 0x0f0f0f0fu)); }

// Words 2 m and 2 m + 1 of row r, in the order of the words of activations.
uvec2 weight_words(uint quants, uint m, uint r) {
  if (ROW_PIECES != 0) {
    if (BITS == 4) return words_of_codes(w[quants + r * 4u + m]);
    const uint at = quants + m / 2u * 256u + r * 4u + m % 2u * 2u;
    return uvec2(w[at], w[at + 1u]);
  }
  uvec2 words = uvec2(0u);
  for (uint i = 0u; i < 4u; ++i) {
    if (BITS == 4) {
      const uint two = w[quants + (4u * m + i) * 16u + r % 16u] >> (8u * (r / 16u));
      words |= uvec2(two & 15u, two >> 4 & 15u) << 8u * i;
    } else {
      const uint at = quants + (8u * m + 2u * i) * 16u + r / 4u, bit = 8u * (r % 4u);
      words |= uvec2(w[at] >> bit & 255u, w[at + 16u] >> bit & 255u) << 8u * i;
    }
  }
  return BITS == 4 ? uvec2(numbers_of(words.x), numbers_of(words.y)) : words;
}

#ifdef PACKED_DOT
#define DOT(a, b) packed_dot(a, b, 0)
#else
int DOT(uint a, uint b) {
  return signed_byte(a, 0u) * signed_byte(b, 0u) + signed_byte(a, 1u) * signed_byte(b, 1u) + signed_byte(a, 2u) * signed_byte(b, 2u) +
         signed_byte(a, 3u) * signed_byte(b, 3u);
}
#endif

// The sum of a token's codes in group g of a tile; the token's words begin at `of`.
int sum_of_codes(uint of, uint g) {
  return GROUP == 32 ? int(x[of + ACT_SUMS]) + int(x[of + ACT_SUMS + 1u]) : int(x[of + ACT_SUMS + g]);
}

// One step of the chain: a row's sum of products, scale and minimum in a group, and a token's scale and sum of codes.
// It is a macro, because glslang does not end on a function whose `precise` results are used in loops.
#define ADD_GROUP(acc, sum, scale, low, of_x, codes)      \
  {                                                       \
    precise const float both = (scale) * (of_x);          \
    acc = fma(float(sum), both, acc);                     \
    if (MIN_KIND == 2) {                                  \
      precise const float offset = (of_x) * float(codes); \
      acc = fma(low, offset, acc);                        \
    }                                                     \
  }

#ifdef IN_ROWS
// The kernels of few tokens over weights in pieces of rows (matmul_rows.glsl). A step is a tile of 32 columns.
#ifdef GROUPED
#define FIRST_X X_ROW(work_begin)
#define FIRST_Y Y_ROW(work_begin)
#else
#define FIRST_X x_offset
#define FIRST_Y y_offset
#endif
layout(set = 0, binding = 1, std430) readonly buffer act_block { uvec4 act[]; };  // a group of codes is three of these

// A tile's weights of one row.
struct RowOfTile {
  uvec4 codes[2];
  float scales[2], lows[2];
};

void load_row(uint panel, uint n, uint r, out RowOfTile row) {
  const PackedTile tile = tile_at(panel, n);
  row.codes[0] = row_piece(tile.quants, r);
  if (BITS == 8) row.codes[1] = row_piece(tile.quants + 256u, r);
  // trips <= 2   groups of a tile
  [[unroll]] for (uint g = 0u; g < GROUPS; ++g) {
    row.scales[g] = scale_of(tile, g * 64u + r);
    row.lows[g] = 0.0;
    if (MIN_KIND == 2) row.lows[g] = minimum_of(tile, g * 64u + r);
  }
}

// Words 2 m and 2 m + 1 of a row, in the order of weight_words().
uvec2 words_of_row(RowOfTile row, uint m) {
  if (BITS == 4) return words_of_codes(row.codes[0][m]);
  return uvec2(row.codes[m / 2u][m % 2u * 2u], row.codes[m / 2u][m % 2u * 2u + 1u]);
}

#define TILES_AHEAD (BITS == 4 ? 4u : 2u)  // 64 bytes of codes are loaded before they are multiplied
#define EACH_TOKEN(DO) DO(0) DO(1) DO(2) DO(3)
#define START(t) precise float sum##t = 0.0;
#define ADD_PAIR(m)                                                                                             \
  {                                                                                                             \
    const uvec2 words = words_of_row(now, m);                                                                   \
    products += DOT(words.x, codes[(m) / 2u][(m) % 2u * 2u]) + DOT(words.y, codes[(m) / 2u][(m) % 2u * 2u + 1u]); \
  }
#define ADD_GROUP_OF_TILE(t, g, code_sum)                                                     \
  {                                                                                           \
    int products = -ZERO * (code_sum);                                                        \
    ADD_PAIR(g * 2u)                                                                          \
    ADD_PAIR(g * 2u + 1u)                                                                     \
    if (GROUP == 32) {                                                                        \
      ADD_PAIR(2u)                                                                            \
      ADD_PAIR(3u)                                                                            \
    }                                                                                         \
    ADD_GROUP(sum##t, products, now.scales[g], now.lows[g], uintBitsToFloat(meta.x), code_sum) \
  }
#define ADD_TILE(t)                                                              \
  if (t < TOKENS) {                                                              \
    const uint of = (first_x + uint(t * x_stride) + n * ACT_WORDS) / 4u;         \
    const uvec4 codes[2] = uvec4[2](act[of], act[of + 1u]);                      \
    const uvec4 meta = act[of + 2u]; /* the scale and two sums of codes */       \
    if (GROUP == 32) {                                                           \
      ADD_GROUP_OF_TILE(t, 0u, int(meta.y) + int(meta.z))                        \
    } else {                                                                     \
      ADD_GROUP_OF_TILE(t, 0u, int(meta.y))                                      \
      ADD_GROUP_OF_TILE(t, 1u, int(meta.z))                                      \
    }                                                                            \
  }

void main() {
  const uint r = gl_LocalInvocationID.x, run = gl_LocalInvocationID.y;
  const uint row = row_of_group(r), panel_row = row % 64u;
#ifdef GROUPED
  find_work(TOKENS);
#endif
  const uint panel = PANELS + row / 64u * (panel_bytes / 4u);
  const uint first_x = FIRST_X, run_tiles = run_tiles_of(uint(K));
  const uint end = min(first_column_of(run + 1u, run_tiles), uint(K)) / 32u;
  EACH_TOKEN(START)
  RowOfTile ahead[4];
  uint n = first_column_of(run, run_tiles) / 32u;
  [[unroll]] for (uint d = 0u; d < TILES_AHEAD; ++d) {
    if (n + d < end) load_row(panel, n + d, panel_row, ahead[d]);
  }
  // trips <= TANDEM_MAX_K / 512 + 2   tiles: a sixteenth of them, and up to two more
  for (; n < end; ++n) {
    const RowOfTile now = ahead[0];
    [[unroll]] for (uint d = 1u; d < 4u; ++d) ahead[d - 1u] = ahead[d];
    if (n + TILES_AHEAD < end) load_row(panel, n + TILES_AHEAD, panel_row, ahead[TILES_AHEAD - 1u]);
    EACH_TOKEN(ADD_TILE)
  }
  EACH_TOKEN(KEEP)
  barrier();
  store_totals(r, run, FIRST_Y + run * uint(y_stride));
}

#elif defined(FEW)
#ifdef GROUPED
#define FIRST_X X_ROW(work_begin)
#define FIRST_Y Y_ROW(work_begin)
#else
#define FIRST_X x_offset
#define FIRST_Y y_offset
#endif

#define EACH_TOKEN(DO) DO(0) DO(1) DO(2) DO(3)
#define START(t) precise float sum##t = 0.0;
#define LOCATE(t) const uint a##t = of + uint(t * x_stride);
#define BEGIN_GROUP(t) int products##t = t < TOKENS ? -ZERO * sum_of_codes(a##t, g) : 0;
#define ADD_PRODUCTS(t) \
  if (t < TOKENS) products##t += DOT(weights.x, x[a##t + word]) + DOT(weights.y, x[a##t + word + 1u]);
#define END_GROUP(t)                                                \
  if (t < TOKENS) {                                                 \
    const float of_x = uintBitsToFloat(x[a##t + ACT_SCALE]);        \
    const int codes = sum_of_codes(a##t, g);                        \
    ADD_GROUP(sum##t, products##t, scale, low, of_x, codes)         \
  }

void main() {
  const uint r = gl_LocalInvocationID.x, lane = gl_LocalInvocationID.y;
  const uint first_row = uint(row_begin) + gl_WorkGroupID.x * 64u, row = first_row + r;
#ifdef GROUPED
  find_work(TOKENS);
#endif
  const uint panel = PANELS + first_row / 64u * (panel_bytes / 4u);
  const uint first_x = FIRST_X, run_tiles = run_tiles_of(uint(K));
  // trips <= 4   RUNS / AT_ONCE
  for (uint first = 0u; first < RUNS; first += uint(AT_ONCE)) {
    const uint run = first + lane, end = min(first_column_of(run + 1u, run_tiles), uint(K)) / 32u;
    EACH_TOKEN(START)
    // trips <= TANDEM_MAX_K / 512 + 2   tiles: a sixteenth of them, and up to two more
    for (uint n = first_column_of(run, run_tiles) / 32u; n < end; ++n) {
      const PackedTile tile = tile_at(panel, n);
      const uint of = first_x + n * ACT_WORDS;
      EACH_TOKEN(LOCATE)
      // trips <= 2   groups of 16 or 32 columns
      for (uint g = 0u; g < GROUPS; ++g) {
        EACH_TOKEN(BEGIN_GROUP)
        // trips <= 4   pairs of a tile's words
        for (uint word = g * WORDS_OF_GROUP; word < (g + 1u) * WORDS_OF_GROUP; word += 2u) {
          const uvec2 weights = weight_words(tile.quants, word / 2u, r);
          EACH_TOKEN(ADD_PRODUCTS)
        }
        const float scale = scale_of(tile, g * 64u + r);
        float low = 0.0;
        if (MIN_KIND == 2) low = minimum_of(tile, g * 64u + r);
        EACH_TOKEN(END_GROUP)
      }
    }
    EACH_TOKEN(KEEP)
    add_runs(first);
  }
  if (lane < uint(TOKENS) && row < uint(row_end)) y[FIRST_Y + lane * uint(y_stride) + row] = totals[lane * 64u + r];
}

#elif defined(UNITS)
#include "matmul_units.glsl"

#else
#define PITCH 9u  // words of a token in shared memory: one more than 8, so that tokens lie in different banks
shared uint weights[8 * 64], tokens[64 * 9];
shared float scales[2 * 64], lows[2 * 64], token_scales[64];
shared int token_sums[2 * 64];
#define START(t) precise vec4 total##t = vec4(0.0), acc##t = vec4(0.0);
#define END_RUN(t)    \
  total##t += acc##t; \
  acc##t = vec4(0.0);
#define BEGIN_GROUP(t) ivec4 sum##t = ivec4(-ZERO * token_sums[g * 64u + ty * 4u + uint(t)]);
#define ADD_PRODUCTS(t)                                    \
  {                                                        \
    const uint a = tokens[(ty * 4u + uint(t)) * PITCH + word]; \
    sum##t += ivec4(DOT(b.x, a), DOT(b.y, a), DOT(b.z, a), DOT(b.w, a)); \
  }
#define END_GROUP(t)                                                                                             \
  {                                                                                                              \
    const float of_x = token_scales[ty * 4u + uint(t)];                                                         \
    const int codes = token_sums[g * 64u + ty * 4u + uint(t)];                                                  \
    ADD_GROUP(acc##t.x, sum##t.x, scales[at], lows[at], of_x, codes)                                             \
    ADD_GROUP(acc##t.y, sum##t.y, scales[at + 16u], lows[at + 16u], of_x, codes)                                 \
    ADD_GROUP(acc##t.z, sum##t.z, scales[at + 32u], lows[at + 32u], of_x, codes)                                 \
    ADD_GROUP(acc##t.w, sum##t.w, scales[at + 48u], lows[at + 48u], of_x, codes)                                 \
  }
#define STORE(t)      \
  total##t += acc##t; \
  if (first_token + ty * 4u + uint(t) < END) store_rows(total##t, first_token + ty * 4u + uint(t), first_row + tx);

void main() {
  const uint id = gl_LocalInvocationID.x, tx = id % 16u, ty = id / 16u;
  const uint first_row = uint(row_begin) + gl_WorkGroupID.x * 64u;
  const uint first_token = find_tokens(id);
  if (first_token >= END) return;  // the whole group returns
  const uint panel = PANELS + first_row / 64u * (panel_bytes / 4u);
  const uint run_tiles = run_tiles_of(uint(K));
  EACH_TOKEN(START)
  uint run = 0u;
  // trips <= TANDEM_MAX_K / 32   half a tile of a run
  for (uint n = 0u; n < uint(K) / 32u; ++n) {
    const uint current = run_of(n / 2u, run_tiles);
    if (current != run) {
      EACH_TOKEN(END_RUN)
    }
    run = current;
    const PackedTile tile = tile_at(panel, n);
    const uvec2 words = weight_words(tile.quants, id / 64u, id % 64u);
    weights[id / 64u * 128u + id % 64u] = words.x;
    weights[id / 64u * 128u + 64u + id % 64u] = words.y;
    if (id < GROUPS * 64u) {
      scales[id] = scale_of(tile, id);
      lows[id] = 0.0;
      if (MIN_KIND == 2) lows[id] = minimum_of(tile, id);
    }
    for (uint i = 0u; i < 2u; ++i) {
      const uint at = id + i * 256u, token = first_token + at / 8u;
      uint word = 0u;
      if (token < END) word = x[OPERAND(token) + n * ACT_WORDS + at % 8u];
      tokens[at / 8u * PITCH + at % 8u] = word;
    }
    const uint own = id - 128u;  // invocations that load no row's scale
    if (id >= 128u && own < 64u && first_token + own < END) {
      const uint of = OPERAND(first_token + own) + n * ACT_WORDS;
      token_scales[own] = uintBitsToFloat(x[of + ACT_SCALE]);
      // trips <= 2   groups of 16 or 32 columns
      for (uint g = 0u; g < GROUPS; ++g) token_sums[g * 64u + own] = sum_of_codes(of, g);
    }
    barrier();
    // trips <= 2   groups of 16 or 32 columns
    for (uint g = 0u; g < GROUPS; ++g) {
      EACH_TOKEN(BEGIN_GROUP)
      // trips <= 8   words of a tile
      for (uint word = g * WORDS_OF_GROUP; word < (g + 1u) * WORDS_OF_GROUP; ++word) {
        const uint at = word * 64u + tx;
        const uvec4 b = uvec4(weights[at], weights[at + 16u], weights[at + 32u], weights[at + 48u]);
        EACH_TOKEN(ADD_PRODUCTS)
      }
      const uint at = g * 64u + tx;
      EACH_TOKEN(END_GROUP)
    }
    barrier();
  }
  EACH_TOKEN(STORE)
}
#endif
