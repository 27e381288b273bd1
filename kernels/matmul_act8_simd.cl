// y[s, n] = sum over k of w[n, k] * x[s, k], for CPU devices (simd family). The activations are codes (act_i8.cl), the
// weights packed.
//
// Contract (docs/numbers.md): integers add up the products of a group of GROUP columns exactly. Then acc = fma(sum,
// scale of weights * scale of activations, acc). A minimum adds acc = fma(minimum, scale of activations * sum of their
// codes, acc). Groups are in ascending order. A run of columns (runs.cl) is one such chain, and runs are added in
// ascending order.
// Layout: codes of weights as in matmul_i4_simd.cl (BITS 4) and matmul_i8_simd.cl (BITS 8), scales as in
//   packed_simd.cl. The kernel brings both kinds of codes into words of four neighbouring codes of a row, unsigned. With
//   a BOOK (code_book.cl) these are the numbers of 4-bit codes, plus 128. y
//   f32 with y_stride, unaligned. Strides of x count words.
// Work mapping: local size 1, no barriers; a work-item has 64 rows.
//   matmul_small_batch, grouped_small_batch (option TOKENS = 1..3): as in matmul_simd.cl. The sums of a run are in
//   registers, and words are built as they are read.
//   matmul_gemm, grouped_gemm: decode up to 8 tiles of 32 columns to local memory and pass three tokens at a time over
//   them (chunks_simd.cl). y holds the totals.
// Limits: K is a multiple of 32 (of 256 with SUPER). gemm: 24 KiB of local and 33 KiB of private memory. Rows from
//   row_end on are padding and are never written.
#include "act_i8.cl"
#include "runs.cl"
#include "code_book_simd.cl"
#if BITS == 4
#define QUANT_BYTES 1024
#else
#define QUANT_BYTES 2048
#endif
#define CODE_BITS (BITS == 4 && !BOOK ? 4 : 8)  // of the numbers that are multiplied
#define SCALE_STEP (SUPER == 2 ? 0.125f : 1.0f)
#define GROUPS (32 / GROUP)
#if SUPER
#define SCALE_BYTES (GROUPS * 64)
#define HEADER_BYTES (MIN_KIND == 2 ? 256 : 128)
#else
#define SCALE_BYTES (GROUPS * 128)
#define HEADER_BYTES 0
#endif
#define TILE_BYTES (SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1) + QUANT_BYTES)
#define QUADS 8            // words of four columns in a tile
#define GROUP_QUADS (QUADS / GROUPS)
#define BIAS ((MIN_KIND == 1 ? ZERO_POINT : 0) + (CODE_BITS == 4 ? 0 : 128))  // the offset of unsigned codes
#define AHEAD_BYTES 8192

#include "byte_products.cl"

typedef struct {
  __global const uchar *header, *at, *quants;
} Tile;

INLINE Tile tile_of(__global const uchar *panel, const int tile) {
#if SUPER
  __global const uchar *header = panel + (size_t)(tile / 8) * (HEADER_BYTES + 8 * TILE_BYTES);
  __global const uchar *at = header + HEADER_BYTES + (tile % 8) * TILE_BYTES;
#else
  __global const uchar *header = panel, *at = panel + (size_t)tile * TILE_BYTES;
#endif
  const Tile t = {header, at, at + SCALE_BYTES * (MIN_KIND == 2 ? 2 : 1)};
  return t;
}

INLINE float16 scale_of(const Tile *t, const int g, const int b) {
  const int row = g * 64 + b * 16;
#if SUPER
  return LOAD_HALF16(__global, (__global const half *)t->header + b * 16) * (convert_float16(vload16(0, (__global const char *)t->at + row)) * SCALE_STEP);
#else
  return LOAD_HALF16(__global, (__global const half *)t->at + row);
#endif
}

INLINE float16 minimum_of(const Tile *t, const int g, const int b) {
  const int row = g * 64 + b * 16;
#if SUPER
  return -(LOAD_HALF16(__global, (__global const half *)t->header + 64 + b * 16) * convert_float16(vload16(0, t->at + SCALE_BYTES + row)));
#else
  return LOAD_HALF16(__global, (__global const half *)(t->at + SCALE_BYTES) + row);
#endif
}

// Takes bits of a where the mask has ones, else bits of b.
INLINE uint16 either(const uint mask, const uint16 a, const uint16 b) { return (a & mask) | (b & ~mask); }

// interleave_rows() leaves 8-bit codes of row 4 j + b in lane j of block b. Sums of few tokens keep this order: scales
// follow it, and the results go back to the order of rows. matmul_gemm and grouped_gemm keep the words in local memory,
// so there 8-bit codes are brought to their rows one by one.
#if BITS == 8 && defined(TOKENS)
#define OTHER_ORDER 1
#else
#define OTHER_ORDER 0
#endif
INLINE void reorder(float16 *v) {
#if OTHER_ORDER
  const float16 a = v[0], b = v[1], c = v[2], d = v[3];
  v[0] = (float16)(a.s048c, b.s048c, c.s048c, d.s048c);
  v[1] = (float16)(a.s159d, b.s159d, c.s159d, d.s159d);
  v[2] = (float16)(a.s26ae, b.s26ae, c.s26ae, d.s26ae);
  v[3] = (float16)(a.s37bf, b.s37bf, c.s37bf, d.s37bf);
#endif
}
#define FOUR_ROWS(v, n) v[0].s##n, v[1].s##n, v[2].s##n, v[3].s##n
INLINE void order_again(float16 *v) {
#if OTHER_ORDER
  const float16 a = (float16)(FOUR_ROWS(v, 0), FOUR_ROWS(v, 1), FOUR_ROWS(v, 2), FOUR_ROWS(v, 3));
  const float16 b = (float16)(FOUR_ROWS(v, 4), FOUR_ROWS(v, 5), FOUR_ROWS(v, 6), FOUR_ROWS(v, 7));
  const float16 c = (float16)(FOUR_ROWS(v, 8), FOUR_ROWS(v, 9), FOUR_ROWS(v, a), FOUR_ROWS(v, b));
  const float16 d = (float16)(FOUR_ROWS(v, c), FOUR_ROWS(v, d), FOUR_ROWS(v, e), FOUR_ROWS(v, f));
  v[0] = a, v[1] = b, v[2] = c, v[3] = d;
#endif
}

// Turns four words with bytes of rows j, j + 16, j + 32, j + 48 into four blocks of 16 rows with four neighbouring
// bytes each.
INLINE void interleave_rows(const uint16 v0, const uint16 v1, const uint16 v2, const uint16 v3, uint16 *to) {
  const uint16 a = either(0x00ff00ffu, v0, v1 << 8), b = either(0x00ff00ffu, v0 >> 8, v1);
  const uint16 c = either(0x00ff00ffu, v2, v3 << 8), d = either(0x00ff00ffu, v2 >> 8, v3);
  to[0] = either(0x0000ffffu, a, c << 16);
  to[1] = either(0x0000ffffu, b, d << 16);
  to[2] = either(0x0000ffffu, a >> 16, c);
  to[3] = either(0x0000ffffu, b >> 16, d);
}

// matmul_gemm prefetches the next bytes in shares, one for each group of tokens; a single burst would stall the
// decoding. Kernels for few tokens read one long run, and a processor may prefetch that better by itself
// (-DFETCHES_SMALL_BATCH=0, engine/device/processor.h).
#ifndef FETCHES_SMALL_BATCH
#define FETCHES_SMALL_BATCH 1
#endif
#if (defined(TOKENS) && FETCHES_SMALL_BATCH) || (!defined(TOKENS) && defined(GROUPED))
#define FETCH_AHEAD(at, bytes) PREFETCH(at, AHEAD_BYTES + (bytes))
#else
#define FETCH_AHEAD(at, bytes)
#endif

// Words 2 m and 2 m + 1 of all 64 rows: columns 8 m + 0, 2, 4, 6 and 8 m + 1, 3, 5, 7.
INLINE void load_words(__global const uchar *quants, const int m, uint16 *even, uint16 *odd) {
#if BITS == 4
  __global const uint16_anywhere *at = (__global const uint16_anywhere *)(quants + m * 256);
  FETCH_AHEAD((__global const uchar *)at, 0);
  FETCH_AHEAD((__global const uchar *)at, 64);
  FETCH_AHEAD((__global const uchar *)at, 128);
  FETCH_AHEAD((__global const uchar *)at, 192);
  uint16 both[4];
  interleave_rows(at[0], at[1], at[2], at[3], both);
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    even[b] = numbers_of_rows(both[b] & 0x0f0f0f0fu);
    odd[b] = numbers_of_rows(both[b] >> 4 & 0x0f0f0f0fu);
#if BOOK
    even[b] ^= 0x80808080u, odd[b] ^= 0x80808080u;
#endif
  }
#elif OTHER_ORDER
  __global const uint16_anywhere *at = (__global const uint16_anywhere *)(quants + m * 512);
#pragma unroll
  for (int line = 0; line < 512; line += 64) FETCH_AHEAD((__global const uchar *)at, line);
  interleave_rows(at[0], at[2], at[4], at[6], even);
  interleave_rows(at[1], at[3], at[5], at[7], odd);
#pragma unroll
  for (int b = 0; b < 4; ++b) even[b] ^= 0x80808080u, odd[b] ^= 0x80808080u;
#else
  __global const uchar *at = quants + m * 512;
#pragma unroll
  for (int line = 0; line < 512; line += 64) FETCH_AHEAD(at, line);
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    uint16 word[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) word[k] = convert_uint16(vload16(0, at + k * 64 + b * 16));
    even[b] = (word[0] | word[2] << 8 | word[4] << 16 | word[6] << 24) ^ 0x80808080u;
    odd[b] = (word[1] | word[3] << 8 | word[5] << 16 | word[7] << 24) ^ 0x80808080u;
  }
#endif
}

// The sum of the codes of a token's group g of a tile.
INLINE int codes_of(__global const uint *x, const int g) {
  return GROUPS == 1 ? (int)x[ACT_SUMS] + (int)x[ACT_SUMS + 1] : (int)x[ACT_SUMS + g];
}

#ifdef TOKENS
#ifdef GROUPED
#include "grouped_small_batch.cl"
__kernel void grouped_small_batch(GROUPED_SMALL_BATCH_ARGUMENTS) {
  const int row = (int)get_global_id(0) * 64;
  const long slot = get_global_id(1), s = (long)get_global_id(2) * TOKENS, matrix = MATRIX_OF(s, slot);
#else
__kernel void matmul_small_batch(BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes, const int K,
                                 const int row_begin, const int row_end, const int x_stride, const int y_stride) {
  const int row = row_begin + (int)get_global_id(0) * 64;
#define PANELS PTR(const uchar, w)
#define FIRST_X PTR(const float, x)
#define FIRST_Y PTR(float, y)
#endif
  __global const uchar *panel = PANELS + (row / 64) * panel_bytes;
  float16 total[TOKENS][4];
#pragma unroll
  for (int t = 0; t < TOKENS; ++t)
#pragma unroll
    for (int b = 0; b < 4; ++b) total[t][b] = 0;
  for (int run = 0; run < RUNS; ++run) {
    const int begin = run_begin(K, run), end = run_end(K, run);
    if (begin >= end) continue;
    __global const uint *x_words = (__global const uint *)(FIRST_X) + begin / 32 * ACT_WORDS;
    float16 acc[TOKENS][4];
#pragma unroll
    for (int t = 0; t < TOKENS; ++t)
#pragma unroll
      for (int b = 0; b < 4; ++b) acc[t][b] = 0;
    for (int tile = begin / 32; tile < end / 32; ++tile, x_words += ACT_WORDS) {
      const Tile from = tile_of(panel, tile);
      FETCH_AHEAD(from.at, 0);
      FETCH_AHEAD(from.at, 64);
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) {
        Sum sum[TOKENS][4];
#pragma unroll
        for (int t = 0; t < TOKENS; ++t) {
          const int start = -BIAS * codes_of(x_words + (long)t * x_stride, g);
#pragma unroll
          for (int b = 0; b < 4; ++b) sum[t][b] = start_products(start);
        }
#pragma unroll
        for (int m = g * GROUP_QUADS / 2; m < (g + 1) * GROUP_QUADS / 2; ++m) {
          uint16 even[4], odd[4];
          load_words(from.quants, m, even, odd);
#pragma unroll
          for (int t = 0; t < TOKENS; ++t) {
            const uint a0 = x_words[(long)t * x_stride + 2 * m], a1 = x_words[(long)t * x_stride + 2 * m + 1];
#pragma unroll
            for (int b = 0; b < 4; ++b) {
              add_products(&sum[t][b], even[b], a0);
              add_products(&sum[t][b], odd[b], a1);
            }
          }
        }
        float16 scales[4], lows[4];
#pragma unroll
        for (int b = 0; b < 4; ++b) {
          scales[b] = scale_of(&from, g, b);
          if (MIN_KIND == 2) lows[b] = minimum_of(&from, g, b);
        }
        reorder(scales);
        if (MIN_KIND == 2) reorder(lows);
#pragma unroll
        for (int b = 0; b < 4; ++b) {
#pragma unroll
          for (int t = 0; t < TOKENS; ++t) {
            const float of_x = as_float(x_words[(long)t * x_stride + ACT_SCALE]);
            const int16 whole = all_products(&sum[t][b], -BIAS * codes_of(x_words + (long)t * x_stride, g));
            acc[t][b] = fma(convert_float16(whole), scales[b] * of_x, acc[t][b]);
#if MIN_KIND == 2
            acc[t][b] = fma(lows[b], (float16)(of_x * (float)codes_of(x_words + (long)t * x_stride, g)), acc[t][b]);
#endif
          }
        }
      }
    }
#pragma unroll
    for (int t = 0; t < TOKENS; ++t)
#pragma unroll
      for (int b = 0; b < 4; ++b) total[t][b] += acc[t][b];
  }
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) {
    float16 sums[4];
#pragma unroll
    for (int b = 0; b < 4; ++b) sums[b] = total[t][b];
    order_again(sums);
#pragma unroll
    for (int b = 0; b < 4; ++b)
      store_rows(sums[b], FIRST_Y + (long)t * y_stride + row + b * 16, row_end - row - b * 16);
  }
}

#else
#define TOGETHER 128
#define LEAST 0
#include "chunks_simd.cl"
#define CHUNK_TILES (CHUNK / 32)

// A decoded chunk: words [tile][quad][block], scales and minima [tile][group][block].
typedef struct {
  __local uint16 *words;
  __local float16 *scales, *lows;
  __global const uchar *ahead;  // prefetched while tokens pass, `share` bytes a tile
  int share;
} Chunk;

INLINE void decode_chunk(__global const uchar *panel, const Parts *parts, const Chunk *to) {
  for (int tile = 0; tile < parts->columns / 32; ++tile) {
    const Tile from = tile_of(panel, parts->begin / 32 + tile);
#pragma unroll
    for (int m = 0; m < QUADS / 2; ++m) {
      uint16 even[4], odd[4];
      load_words(from.quants, m, even, odd);
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        to->words[(tile * QUADS + 2 * m) * 4 + b] = even[b];
        to->words[(tile * QUADS + 2 * m + 1) * 4 + b] = odd[b];
      }
    }
#pragma unroll
    for (int g = 0; g < GROUPS; ++g)
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        to->scales[(tile * GROUPS + g) * 4 + b] = scale_of(&from, g, b);
#if MIN_KIND == 2
        to->lows[(tile * GROUPS + g) * 4 + b] = minimum_of(&from, g, b);
#endif
      }
  }
}

// The name of a function for `tokens` tokens, with the suffix of this variant.
#define JOIN_NAMES(name, tokens, variant) name##_##tokens##variant
#define EXPAND_NAMES(name, tokens, variant) JOIN_NAMES(name, tokens, variant)
#define VARIANT_NAME(name, tokens) EXPAND_NAMES(name, tokens, VARIANT)

// GROUP_TOKENS tokens pass together, over BLOCKS blocks of 16 rows at a time.
#if defined(HAS_VPMADDUBSW)
#define BLOCKS 1
#define GROUP_TOKENS 3
#elif REGISTERS >= 32
#define BLOCKS 4
#define GROUP_TOKENS 3
#else
#define BLOCKS 4
#define GROUP_TOKENS 1
#endif
#if GROUP_TOKENS == 3
#define SUM_TOKENS 3
#include "matmul_act8_sums_simd.cl"
#define SUM_TOKENS 2
#include "matmul_act8_sums_simd.cl"
#endif
#define SUM_TOKENS 1
#include "matmul_act8_sums_simd.cl"

// How many of the remaining tokens pass together: at most GROUP_TOKENS. If four remain, two pass, because one alone
// takes nearly as long as two.
INLINE int tokens_of(const int left) { return GROUP_TOKENS == 3 && left == 4 ? 2 : min(GROUP_TOKENS, left); }

INLINE void pass_tokens(const Chunk *chunk, const Parts *parts, __global const uint *const *x,
                        __global float *const *y, float16 *cut, const int rows, const int tokens) {
#if GROUP_TOKENS == 3
  if (tokens == 3) VARIANT_NAME(sum_tokens, 3)(chunk, parts, x, y, cut, rows);
  if (tokens == 2) VARIANT_NAME(sum_tokens, 2)(chunk, parts, x, y, cut, rows);
#endif
  if (tokens == 1) VARIANT_NAME(sum_tokens, 1)(chunk, parts, x, y, cut, rows);
}

#define DECLARE_CHUNK                                                \
  __local uint16 words[CHUNK_TILES * QUADS * 4];                     \
  __local float16 scales[CHUNK_TILES * GROUPS * 4];                  \
  __local float16 lows[MIN_KIND == 2 ? CHUNK_TILES * GROUPS * 4 : 1]; \
  float16 cut[(TOGETHER + LEAST) * 4];                               \
  Chunk chunk = {words, scales, lows, 0, 0}

#ifdef GROUPED
// Computes the choices [begin, end) of a list, or slot `matrix` of the tokens [begin, end).
__kernel void grouped_gemm(BUFFER(w), BUFFER(x), BUFFER(y), BUFFER(lists), const ulong panel_bytes, const ulong matrix_bytes, const int K,
                           const int row_end, const int count, const int slots, const int x_stride, const int x_slot, const int y_stride,
                           const int y_slot, const int S) {
  DECLARE_CHUNK;
  const int row = (int)get_global_id(0) * 64, i = get_global_id(1);
#if HAS_LISTS
  __global const int *list = PTR(const int, lists), *choices = list + 2 + 2 * count;
  if (i >= list[0]) return;
  const long matrix = list[1 + i];
  const int begin = list[1 + count + i], end = list[2 + count + i];
#else
  const long matrix = i;
  const int begin = 0, end = S;
#endif
  __global const uchar *panel = PTR(const uchar, w) + matrix * matrix_bytes + row / 64 * panel_bytes;
  for (int first = begin, last; first < end; first = last) {
    last = first + tokens_together(K, first, end);
    for (int k = 0; k < K;) {
      const Parts parts = parts_from(K, k);
      decode_chunk(panel, &parts, &chunk);
      for (int s = first; s < last;) {
        const int together = tokens_of(last - s);
        __global const uint *x_rows[GROUP_TOKENS];
        __global float *y_rows[GROUP_TOKENS];
        for (int t = 0; t < together; ++t) {
#if HAS_LISTS
          const uint choice = choices[s + t];
          const long token = choice / (uint)slots, slot = choice % (uint)slots;
#else
          const long token = s + t, slot = matrix;
#endif
          x_rows[t] = PTR(const uint, x) + token * x_stride + slot * x_slot + k / 32 * ACT_WORDS;
          y_rows[t] = PTR(float, y) + token * y_stride + slot * y_slot + row;
        }
        pass_tokens(&chunk, &parts, x_rows, y_rows, cut + (s - first) * 4, row_end - row, together);
        s += together;
      }
      k += parts.columns;
    }
  }
}

#else
__kernel void matmul_gemm(BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes, const int K, const int row_begin,
                          const int row_end, const int x_stride, const int y_stride, const int S) {
  DECLARE_CHUNK;
  const int row = row_begin + (int)get_global_id(0) * 64, rows = row_end - row;
  __global const uchar *panel = PTR(const uchar, w) + row / 64 * panel_bytes;
  const int tile_bytes = (int)(panel_bytes / (K / 32));
  for (int first = 0, last; first < S; first = last) {
    last = first + tokens_together(K, first, S);
    const int groups = (last - first + GROUP_TOKENS - 1) / GROUP_TOKENS;
    for (int k = 0; k < K;) {
      const Parts parts = parts_from(K, k);
      const int tiles = parts.columns / 32;
      decode_chunk(panel, &parts, &chunk);
      // The columns that follow, or the next panel; the same panel again for more tokens.
      const bool again = k + parts.columns == K && last < S;
      chunk.ahead = again ? panel : panel + (size_t)tile_bytes * (k / 32 + tiles);
      chunk.share = tile_bytes * CHUNK_TILES / tiles / groups;
      __global const uint *a = PTR(const uint, x) + k / 32 * ACT_WORDS;
      __global float *out = PTR(float, y) + row;
      for (int s = first; s < last;) {
        const int together = tokens_of(last - s);
        __global const uint *x_rows[GROUP_TOKENS];
        __global float *y_rows[GROUP_TOKENS];
        for (int t = 0; t < together; ++t) {
          x_rows[t] = a + (long)(s + t) * x_stride;
          y_rows[t] = out + (long)(s + t) * y_stride;
        }
        pass_tokens(&chunk, &parts, x_rows, y_rows, cut + (s - first) * 4, rows, together);
        chunk.ahead += chunk.share * tiles;
        s += together;
      }
      k += parts.columns;
    }
  }
}
#endif
#endif
