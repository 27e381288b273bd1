// y[s, n] = sum over k of w[n, k] * x[s, k], for GPUs (simt family). The activations are codes (act_i8.cl), the
// weights packed.
//
// Contract: as in matmul_act8_simd.cl. One work-item computes the chain of a run over its groups, for a row and a token.
//   Runs are added in ascending order (runs.cl), so the bits are those of every other device.
// Layout: with ROW_PIECES as in row_piece.cl. Otherwise as in matmul_i4_simt.cl (BITS 4) and matmul_i8_simt.cl (BITS 8), scales as in packed_tiles.cl.
//   Strides of x count words.
// Work mapping: as in matmul_simt.cl.
//   matmul_small_batch (option TOKENS = S, at most 4): a group per panel, as runs_simt.cl says; with ROW_PIECES as in
//   matmul_rows_simt.cl.
//   matmul_gemm: a group of 256 per 64 rows (dimension 0) and 64 tokens (dimension 1), with a tile of each in local
//   memory. Work-item (tx, ty) of 16 x 16 computes rows tx, tx+16, tx+32, tx+48 of tokens 4 ty .. 4 ty + 3.
//   -DGROUPED=1: grouped_small_batch, one token (TOKENS = 1) and slot each (grouped_small_batch.cl), and
//   grouped_gemm (grouped_gemm.cl).
//   HAS_PACKED_DOT: packed_dot.cl. BOOK: code_book.cl. MATRIX_UNITS: matmul_units_simt.cl.
// Limits: groups of 256 (wide: 1,024). Local memory: few 1.25 KiB * TOKENS (wide 4.25 KiB * TOKENS), gemm 6 KiB (7
//   grouped). K is a multiple of 32 (of 256 with SUPER). Rows from row_end on are padding and are never written.
#if BITS == 4
#define QUANT_BYTES 1024
#else
#define QUANT_BYTES 2048
#endif
#include "act_i8.cl"
#include "packed_dot.cl"
#include "packed_tiles.cl"
#include "code_book.cl"
#include "row_piece.cl"
#include "runs_simt.cl"
#define ZERO (MIN_KIND == 1 ? ZERO_POINT : 0)
#define WORDS_OF_GROUP (8 / GROUPS)

// Words 2 m and 2 m + 1 of row r, in the order of the words of activations. Codes without a book stay as they are stored:
// a code minus its zero point may not fit a byte, so the zero point is subtracted from a whole sum.
INLINE uint2 weight_words(__global const uchar *quants, const int m, const int r) {
#if ROW_PIECES
  __global const uint *pieces = (__global const uint *)quants;
#if BITS == 4
  return words_of_codes(pieces[r * 4 + m]);
#else
  return (uint2)(pieces[m / 2 * 256 + r * 4 + m % 2 * 2], pieces[m / 2 * 256 + r * 4 + m % 2 * 2 + 1]);
#endif
#else
  uint2 words = 0;
  for (int i = 0; i < 4; ++i) {
#if BITS == 4
    const uint two = quants[(4 * m + i) * 64 + r % 16 * 4 + r / 16];
    words |= (uint2)(two & 15u, two >> 4) << 8 * i;
#else
    words |= (uint2)(quants[(8 * m + 2 * i) * 64 + r], quants[(8 * m + 2 * i + 1) * 64 + r]) << 8 * i;
#endif
  }
#if BITS == 4
  return (uint2)(numbers_of(words.x), numbers_of(words.y));
#else
  return words;
#endif
#endif
}

// The sum of a token's codes in group g of a tile; `of` points to the token's words.
INLINE int sum_of_codes(__global const uint *of, const int g) {
  return GROUPS == 1 ? (int)of[ACT_SUMS] + (int)of[ACT_SUMS + 1] : (int)of[ACT_SUMS + g];
}

// One step of the chain: a row's sum of products, scale and minimum in a group, and a token's scale and sum of codes.
INLINE float add_group(float acc, const float sum, const float scale, const float low, const float of_x, const int codes) {
  acc = fma(sum, scale * of_x, acc);
  return MIN_KIND == 2 ? fma(low, of_x * (float)codes, acc) : acc;
}

#if ROW_PIECES && defined(TOKENS)
// A tile's weights of one row: 32 columns, their scales and minima.
typedef struct {
  uint4 codes[BITS / 4];
  float scales[GROUPS], lows[GROUPS];
} RowOfTile;

INLINE RowOfTile load_row(__global const uchar *panel, const int n, const int r) {
  RowOfTile row;
  const PackedTile tile = tile_at(panel, n);
#pragma unroll
  for (int i = 0; i < BITS / 4; ++i) row.codes[i] = row_piece(tile.quants + i * 1024, r);
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    row.scales[g] = scale_of(tile, g * 64 + r);
    row.lows[g] = 0.0f;
#if MIN_KIND == 2
    row.lows[g] = minimum_of(tile, g * 64 + r);
#endif
  }
  return row;
}

// The products of word pair m of a row with the token's words.
INLINE int pair_of_words(const RowOfTile row, const int m, const uint4 *codes) {
#if BITS == 4
  const uint2 words = words_of_codes(word_of(row.codes[0], m));
#else
  const uint2 words = (uint2)(word_of(row.codes[m / 2], m % 2 * 2), word_of(row.codes[m / 2], m % 2 * 2 + 1));
#endif
  return DOT(words.x, word_of(codes[m / 2], m % 2 * 2)) + DOT(words.y, word_of(codes[m / 2], m % 2 * 2 + 1));
}

// Adds the products of a tile of one row and a token's group of codes, which is three vectors.
INLINE float add_tile(float acc, const RowOfTile row, __global const uint4 *of) {
  const uint4 codes[2] = {of[0], of[1]}, scale_and_sums = of[2];
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    const int in_group = g == 0 ? (int)scale_and_sums.y : (int)scale_and_sums.z;
    const int code_sum = GROUPS == 1 ? (int)scale_and_sums.y + (int)scale_and_sums.z : in_group;
    int sum = ZERO == 0 ? 0 : -ZERO * code_sum;
#pragma unroll
    for (int m = g * WORDS_OF_GROUP / 2; m < (g + 1) * WORDS_OF_GROUP / 2; ++m) sum += pair_of_words(row, m, codes);
    acc = add_group(acc, sum, row.scales[g], row.lows[g], as_float(scale_and_sums.x), code_sum);
  }
  return acc;
}

// A run of one row (matmul_rows_simt.cl), a tile at a time. 64 bytes of codes are loaded ahead.
#define TILES_AHEAD (16 / BITS)
INLINE void add_run(__global const uchar *panel, const int row, const int begin, const int end, __global const float *x, const long x_stride,
                    float *sums) {
  __global const uint4 *codes = (__global const uint4 *)x;
  RowOfTile ahead[TILES_AHEAD];
  const int last = end / 32;
  int n = begin / 32;
#pragma unroll
  for (int d = 0; d < TILES_AHEAD; ++d)
    if (n + d < last) ahead[d] = load_row(panel, n + d, row);
  for (; n < last; ++n) {
    const RowOfTile weights = ahead[0];
#pragma unroll
    for (int d = 1; d < TILES_AHEAD; ++d) ahead[d - 1] = ahead[d];
    if (n + TILES_AHEAD < last) ahead[TILES_AHEAD - 1] = load_row(panel, n + TILES_AHEAD, row);
#pragma unroll
    for (int t = 0; t < TOKENS; ++t) sums[t] = add_tile(sums[t], weights, codes + (t * x_stride + n * ACT_WORDS) / 4);
  }
}
#include "matmul_rows_simt.cl"

#elif defined(TOKENS)
#include "small_batch.cl"

SMALL_BATCH_KERNEL(64, AT_ONCE) {
  FIND_OPERANDS
  __local float parts[AT_ONCE * TOKENS * 64], totals[TOKENS * 64];
  const int r = get_local_id(0), lane = get_local_id(1);
  const int first_row = row_begin + (int)get_group_id(0) * 64, row = first_row + r;
  __global const uchar *panel = PANELS + (first_row / 64) * panel_bytes;
  __global const uint *x = (__global const uint *)(FIRST_X);
  for (int first = 0; first < RUNS; first += AT_ONCE) {
    const int begin = run_begin(K, first + lane), end = run_end(K, first + lane);
    float acc[TOKENS];
    for (int t = 0; t < TOKENS; ++t) acc[t] = 0.0f;
    for (int n = begin / 32; n < end / 32; ++n) {
      const PackedTile tile = tile_at(panel, n);
      __global const uint *codes = x + n * ACT_WORDS;
      for (int g = 0; g < GROUPS; ++g) {
        int sum[TOKENS];
        for (int t = 0; t < TOKENS; ++t) sum[t] = ZERO == 0 ? 0 : -ZERO * sum_of_codes(codes + (long)t * x_stride, g);
        for (int word = g * WORDS_OF_GROUP; word < (g + 1) * WORDS_OF_GROUP; word += 2) {
          const uint2 weights = weight_words(tile.quants, word / 2, r);
          for (int t = 0; t < TOKENS; ++t) {
            __global const uint *of = codes + (long)t * x_stride + word;
            sum[t] += DOT(weights.x, of[0]) + DOT(weights.y, of[1]);
          }
        }
        const float scale = scale_of(tile, g * 64 + r);
#if MIN_KIND == 2
        const float low = minimum_of(tile, g * 64 + r);
#else
        const float low = 0.0f;
#endif
        for (int t = 0; t < TOKENS; ++t) {
          __global const uint *of = codes + (long)t * x_stride;
          acc[t] = add_group(acc[t], sum[t], scale, low, as_float(of[ACT_SCALE]), sum_of_codes(of, g));
        }
      }
    }
    add_runs(parts, totals, acc, first);
  }
  for (int t = lane; t < TOKENS && row < row_end; t += AT_ONCE) FIRST_Y[(long)t * y_stride + row] = totals[t * 64 + r];
}

#elif MATRIX_UNITS
#include "matmul_units_simt.cl"

#else
#define PITCH 9  // words of a token in local memory: one more than 8, so that tokens lie in different banks

#include "many_tokens.cl"

GEMM_KERNEL() {
  FIND_TILE
  __local uint weights[8 * 64], tokens[64 * PITCH];
  __local float scales[GROUPS * 64], lows[GROUPS * 64], token_scales[64];
  __local int token_sums[GROUPS * 64];
  const int id = get_local_id(0), tx = id % 16, ty = id / 16;
  __global const uchar *panel = PANELS + (first_row / 64) * panel_bytes;
  __global const uint *x = PTR(const uint, x);
  float total[16], acc[16];  // [4 tokens][4 rows]
  for (int i = 0; i < 16; ++i) total[i] = acc[i] = 0.0f;
  int run = 0;
  for (int n = 0; n < K / 32; ++n) {
    const int current = run_of(K, n * 32);
    if (current != run) end_run(total, acc, 16);
    run = current;
    const PackedTile tile = tile_at(panel, n);
    const uint2 words = weight_words(tile.quants, id / 64, id % 64);
    weights[id / 64 * 128 + id % 64] = words.x;
    weights[id / 64 * 128 + 64 + id % 64] = words.y;
    if (id < GROUPS * 64) {
      scales[id] = scale_of(tile, id);
      lows[id] = MIN_KIND == 2 ? minimum_of(tile, id) : 0.0f;
    }
    for (int i = id; i < 64 * 8; i += 256) {
      const int token = first_token + i / 8;
      tokens[i / 8 * PITCH + i % 8] = token < S ? x[X_ROW(token) + n * ACT_WORDS + i % 8] : 0;
    }
    const int own = id - 128;  // work-items that load no row's scale
    if (own >= 0 && own < 64 && first_token + own < S) {
      __global const uint *of = x + X_ROW(first_token + own) + n * ACT_WORDS;
      token_scales[own] = as_float(of[ACT_SCALE]);
      for (int g = 0; g < GROUPS; ++g) token_sums[g * 64 + own] = sum_of_codes(of, g);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int g = 0; g < GROUPS; ++g) {
      int sum[4][4];
      for (int t = 0; t < 4; ++t) {
        for (int r = 0; r < 4; ++r) sum[t][r] = -ZERO * token_sums[g * 64 + ty * 4 + t];
      }
      for (int word = g * WORDS_OF_GROUP; word < (g + 1) * WORDS_OF_GROUP; ++word) {
        uint a[4], b[4];
        for (int r = 0; r < 4; ++r) b[r] = weights[word * 64 + tx + r * 16];
        for (int t = 0; t < 4; ++t) a[t] = tokens[(ty * 4 + t) * PITCH + word];
        for (int t = 0; t < 4; ++t) {
          for (int r = 0; r < 4; ++r) sum[t][r] += DOT(b[r], a[t]);
        }
      }
      for (int t = 0; t < 4; ++t) {
        const float of_x = token_scales[ty * 4 + t];
        const int codes = token_sums[g * 64 + ty * 4 + t];
        for (int r = 0; r < 4; ++r) {
          const int at = g * 64 + tx + r * 16;
          acc[t * 4 + r] = add_group(acc[t * 4 + r], sum[t][r], scales[at], lows[at], of_x, codes);
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int t = 0; t < 4; ++t) {
    const int token = first_token + ty * 4 + t;
    for (int r = 0; r < 4; ++r) {
      const int row = first_row + tx + r * 16;
      if (token < S && row < row_end) PTR(float, y)[Y_ROW(token) + row] = total[t * 4 + r] + acc[t * 4 + r];
    }
  }
}
#endif
