// The matmul kernels of the simd family, on top of load_strip(), load_pair() and STRIP of a weight format. Other kernels
// include this file; it is never built alone.
//
// Contract (docs/numbers.md): a run of columns is one chain acc = fma(w, a, acc), k ascending, and runs are added in
// ascending order (runs.cl). All variants of both families give the same bits. Speed comes from many rows (lanes) and
// many tokens (registers) at once.
// Layout: x f32 [S, K] with x_stride, y f32 [S, N] with y_stride, both unaligned (vload/vstore only). Panel p of w
//   starts at p * panel_bytes.
// Work mapping: local size 1, no barriers.
//   matmul_small_batch (option TOKENS = 1..8, BLOCKS = 4 or 2): work-item u computes 16*BLOCKS rows from row_begin +
//   u*16*BLOCKS on, for TOKENS tokens. It decodes the weights once. The sums of a run stay in registers, the totals in
//   memory. TOKENS = 1 is the GEMV.
//   matmul_gemm (no TOKENS, BLOCKS = 2): work-item u owns 32 rows and all S tokens. It decodes up to 256 columns to a
//   local f32 panel (chunks_simd.cl). It passes the tokens over one part of a run after the other, a group at a time, so
//   that a part stays in L1. A group's sums of a run stay in registers; y holds the totals.
//     The first group alternates with the decoding, strip by strip: the multiply-adds of one strip hide the decoding of
//     the next. Each group prefetches a share of the next bytes: F16 from memory reaches 195 GFLOP/s without, 218 with.
//     A group is 8 tokens x 32 rows, or 6 x 16 (AVX2), so that each half of the panel stays in L1 while all
//     tokens pass.
//   -DGROUPED=1 (engine/device/operators/grouped_matmul.h) multiplies with a stack of matrices. Rows of x start at
//   s*x_stride + slot*x_slot, rows of y at s*y_stride + slot*y_slot. Matrix m starts at m * matrix_bytes.
//   grouped_small_batch: work-item (u, slot, t) computes ROWS rows of this slot for TOKENS tokens from t*TOKENS on. It
//   multiplies with matrix ids[s*slots + slot], or with matrix `slot` (-DHAS_IDS=0).
//   grouped_gemm: work-item (u, i) owns 32 rows of the i-th matrix that `lists` name, and passes the listed choices
//   over it. With -DHAS_LISTS=0 it owns rows of matrix i and passes slot i of all S tokens. No group alternates with
//   the decoding, because there may be only one token.
// Limits: rows from row_end on are padding and are never written. matmul_gemm: S >= 8. gemm: 32 KiB of local memory and
//   33 KiB of private memory.
#include "runs.cl"
#define ROWS (BLOCKS * 16)

#ifdef TOKENS
// Adds two columns to the sums of AT_ONCE blocks from `part` on.
INLINE void add_pair(float16 sum[TOKENS][BLOCKS], const int part, const float16 *first, const float16 *second,
                     __global const float *at, const int x_stride) {
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) {
    const float a0 = at[(long)t * x_stride], a1 = at[(long)t * x_stride + 1];
#pragma unroll
    for (int b = 0; b < AT_ONCE; ++b) sum[t][part + b] = fma(first[b], (float16)(a0), sum[t][part + b]);
#pragma unroll
    for (int b = 0; b < AT_ONCE; ++b) sum[t][part + b] = fma(second[b], (float16)(a1), sum[t][part + b]);
  }
}

#ifdef GROUPED
#include "grouped_small_batch.cl"
__kernel void grouped_small_batch(GROUPED_SMALL_BATCH_ARGUMENTS) {
  const int row = (int)get_global_id(0) * ROWS;
  const long slot = get_global_id(1), s = (long)get_global_id(2) * TOKENS, matrix = MATRIX_OF(s, slot);
#else
__kernel void matmul_small_batch(BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes, const int K,
                                 const int row_begin, const int row_end, const int x_stride, const int y_stride) {
  const int row = row_begin + (int)get_global_id(0) * ROWS;
#define PANELS PTR(const uchar, w)
#define FIRST_X PTR(const float, x)
#define FIRST_Y PTR(float, y)
#endif
  const int lane = BLOCKS == 4 ? 0 : row % 64;  // with 4 blocks the compiler knows that it is 0
  __global const uchar *panel = PANELS + (row / 64) * panel_bytes;
  float16 total[TOKENS][BLOCKS];
#pragma unroll
  for (int t = 0; t < TOKENS; ++t)
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) total[t][b] = 0;
  for (int run = 0; run < RUNS; ++run) {
    const int begin = run_begin(K, run), end = run_end(K, run);
    if (begin >= end) continue;
    __global const float *a = FIRST_X + begin;
    float16 sum[TOKENS][BLOCKS];
#pragma unroll
    for (int t = 0; t < TOKENS; ++t)
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) sum[t][b] = 0;
    for (int strip = begin / STRIP; strip < end / STRIP; ++strip, a += STRIP) {
#pragma unroll
      for (int part = 0; part < BLOCKS; part += AT_ONCE) {
        const Strip r = load_strip(panel, strip, lane + part * 16);
        float16 first[AT_ONCE], second[AT_ONCE];
#ifdef OFFSETS
        if (r.takes_offsets) {
          const Offsets offsets = with_offsets(&r);
          for (int pair = 0; pair < STRIP / 2; ++pair) {
            load_pair_by_offsets(&offsets, pair, first, second);
            add_pair(sum, part, first, second, a + 2 * pair, x_stride);
          }
          continue;
        }
#endif
        for (int pair = 0; pair < STRIP / 2; ++pair) {
          load_pair(&r, pair, first, second);
          add_pair(sum, part, first, second, a + 2 * pair, x_stride);
        }
      }
    }
#ifdef ANY_COLUMNS
    // Only the last run may end inside a strip.
#pragma unroll
    for (int part = 0; part < BLOCKS && end % STRIP; part += AT_ONCE) {
      const Strip r = load_strip(panel, end / STRIP, lane + part * 16);
      for (int column = 0; column < end % STRIP; ++column)
#pragma unroll
        for (int t = 0; t < TOKENS; ++t)
#pragma unroll
          for (int b = 0; b < AT_ONCE; ++b) {
            const float16 x = (float16)(a[(long)t * x_stride + column]);
            sum[t][part + b] = fma(load_column(&r, column, b), x, sum[t][part + b]);
          }
    }
#endif
#pragma unroll
    for (int t = 0; t < TOKENS; ++t)
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) total[t][b] += sum[t][b];
  }
#pragma unroll
  for (int t = 0; t < TOKENS; ++t)
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
      store_rows(total[t][b], FIRST_Y + (long)t * y_stride + row + b * 16, row_end - row - b * 16);
}

#else
#define TOGETHER 256
#define LEAST 8  // matmul_gemm: a first group has as many tokens
#include "chunks_simd.cl"
#if SUMS >= 16
#define ROW_BLOCKS 2  // blocks of 16 rows whose sums are in registers together
#define FIRST_GROUP 8
#define GROUP_TOKENS 8
#else
#define ROW_BLOCKS 1
#define FIRST_GROUP 4  // then GROUP_TOKENS each: 64 and 256 tokens leave no remainder, 128 leave four
#define GROUP_TOKENS 6
#endif
// An index into the decoded panel.
#define PANEL_AT(k, b) ((b) / ROW_BLOCKS * (CHUNK * ROW_BLOCKS) + (k)*ROW_BLOCKS + (b) % ROW_BLOCKS)

// The offsets of the rows of y of a group's tokens: a multiple of the stride, or one entry per row.
#ifdef GROUPED
#define ROWS_OF_Y const long *y_places
#define Y_ROWS y_places
#define Y_ROW(t) y_places[t]
#else
#define ROWS_OF_Y long y_stride
#define Y_ROWS y_stride
#define Y_ROW(t) t *y_stride
#endif

// The name of a function for `tokens` tokens, with the suffix of this variant.
#define JOIN_NAMES(name, tokens, variant) name##_##tokens##variant
#define EXPAND_NAMES(name, tokens, variant) JOIN_NAMES(name, tokens, variant)
#define VARIANT_NAME(name, tokens) EXPAND_NAMES(name, tokens, VARIANT)

// begin_sums, add_columns, end_sums and pass_tokens for each number of tokens that a group may have.
#if SUMS >= 16
#define SUM_TOKENS 8
#include "matmul_sums_simd.cl"
#else
#define SUM_TOKENS 6
#include "matmul_sums_simd.cl"
#endif
#define SUM_TOKENS 4
#include "matmul_sums_simd.cl"
#define SUM_TOKENS 2
#include "matmul_sums_simd.cl"
#define SUM_TOKENS 1
#include "matmul_sums_simd.cl"

// Decodes `columns` columns of a strip to the panel, at `decoded`, and prefetches `share` bytes from `ahead` on.
INLINE void decode_strip(const Strip *r, int columns, __local float16 *decoded, __global const uchar *ahead, int share) {
  for (int pair = 0; pair < columns / 2; ++pair) {
    PREFETCH(ahead, 2 * pair * share / STRIP);
    float16 first[BLOCKS], second[BLOCKS];
    load_pair(r, pair, first, second);
    __local float16 *at = decoded + PANEL_AT(2 * pair, 0);
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) at[PANEL_AT(0, b)] = first[b];
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) at[PANEL_AT(1, b)] = second[b];
  }
#ifdef ANY_COLUMNS
  if (columns % 2) {
    for (int b = 0; b < BLOCKS; ++b) decoded[PANEL_AT(columns - 1, b)] = load_column(r, columns - 1, b);
  }
#endif
}

#ifdef GROUPED
// The choices [begin, end) of a list, or slot `matrix` of the tokens [begin, end).
typedef struct {
  long matrix;
  int begin, end;
  __global const int *choices;
} Group;

// The group of the i-th matrix in the lists, which name only matrices with choices. Without lists: of matrix i.
INLINE Group group_of(__global const int *lists, const int i, const int count, const int S) {
#if HAS_LISTS
  __global const int *begins = lists + 1 + count;
  const Group group = {lists[1 + i], begins[i], begins[i + 1], lists + 2 + 2 * count};
#else
  const Group group = {i, 0, S, 0};
#endif
  return group;
}

// The strides of x and y. locate() computes with them the offsets in x and in y of the rows of T choices, from choice
// number `at` on.
typedef struct {
  int slots, x_stride, x_slot, y_stride, y_slot;
} Strides;

INLINE void locate(const Group *group, const int at, const int T, const Strides *strides, long *x_places, long *y_places) {
#pragma unroll
  for (int t = 0; t < T; ++t) {
#if HAS_LISTS
    const uint choice = group->choices[at + t];
    const long s = choice / (uint)strides->slots, slot = choice % (uint)strides->slots;
#else
    const long s = at + t, slot = group->matrix;
#endif
    x_places[t] = s * strides->x_stride + slot * strides->x_slot;
    y_places[t] = s * strides->y_stride + slot * strides->y_slot;
  }
}

// Passes T choices from number s on over some blocks of a part.
#define PASS(T)                                                                                    \
  {                                                                                                \
    long x_places[T], y_places[T];                                                                 \
    locate(&group, s, T, &strides, x_places, y_places);                                            \
    float16 *at = sums + (s - begin) * BLOCKS;                                                     \
    VARIANT_NAME(pass_tokens, T)(panel, &parts, i, k, a, out, at, x_places, y_places, left);       \
    s += T;                                                                                        \
  }

__kernel void grouped_gemm(BUFFER(w), BUFFER(x), BUFFER(y), BUFFER(lists), const ulong panel_bytes, const ulong matrix_bytes, const int K,
                           const int rows, const int count, const int slots, const int x_stride, const int x_slot, const int y_stride,
                           const int y_slot, const int S) {
  __local float16 decoded[CHUNK * BLOCKS];
  const int row = (int)get_global_id(0) * ROWS, i = get_global_id(1);
#if HAS_LISTS
  if (i >= PTR(const int, lists)[0]) return;
#endif
  const Group group = group_of(PTR(const int, lists), i, count, S);
  const Strides strides = {slots, x_stride, x_slot, y_stride, y_slot};
  __global const uchar *first_panel = PTR(const uchar, w) + group.matrix * matrix_bytes + row / 64 * panel_bytes;
  float16 cut[(TOGETHER + LEAST) * BLOCKS];
  // The bytes of a strip. Decoding a strip prefetches the same strip of the next CHUNK columns.
  const int share = (int)(panel_bytes * STRIP / K);
  for (int begin = group.begin, end; begin < group.end; begin = end) {
    end = begin + tokens_together(K, begin, group.end);
    for (int k0 = 0; k0 < K;) {
      const Parts parts = parts_from(K, k0);
      __global const float *a = PTR(const float, x) + k0;
      __global const uchar *ahead = first_panel + panel_bytes * (k0 + parts.columns) / K + FETCH_OFFSET(row % 64);
      for (int k = 0; k < parts.columns; k += STRIP) {
        const Strip r = load_strip(first_panel, (k0 + k) / STRIP, row % 64);
        decode_strip(&r, min(STRIP, parts.columns - k), decoded + PANEL_AT(k, 0), ahead + k / STRIP * share, share);
      }
      for (int i = 0, k = 0; i < parts.count; k = parts.end[i++]) {
        for (int b = 0; b < BLOCKS; b += ROW_BLOCKS) {
          __local const float16 *panel = decoded + PANEL_AT(0, b);
          __global float *out = PTR(float, y) + row + b * 16;
          float16 *sums = cut + b;
          const int left = rows - row - b * 16;
          int s = begin;
          while (end - s >= GROUP_TOKENS) PASS(GROUP_TOKENS)
          if (end - s >= 4) PASS(4)
          if (end - s >= 2) PASS(2)
          if (end > s) PASS(1)
        }
      }
      k0 += parts.columns;
    }
  }
}

#else
// Passes T tokens from number s on over some blocks of a part.
#define PASS(T) \
  VARIANT_NAME(pass_tokens, T)(panel, &parts, i, k, a + s * xs, to + s * ys, sums + s * BLOCKS, token, ys, left)

__kernel void matmul_gemm(BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes, const int K, const int row_begin,
                          const int row_end, const int x_stride, const int y_stride, const int S) {
  __local float16 decoded[CHUNK * BLOCKS];
  const int row = row_begin + (int)get_global_id(0) * ROWS;
  const int rows = row_end - row;
  const long xs = x_stride, ys = y_stride;
  // Offsets of the tokens' rows; volatile hides from the compiler that they are multiples of one stride. From one
  // stride it makes chains of additions, one for each load, and these take the multiply-adds' ports (Intel: 9 % of
  // the time).
  volatile long stride = x_stride;
  long token[8];
  for (int t = 0; t < 8; ++t) token[t] = t * stride;
  float16 cut[(TOGETHER + LEAST) * BLOCKS];
  for (int begin = 0, count; begin < S; begin += count) {
    count = tokens_together(K, begin, S);
    // The passes over a part that prefetch a share: those of whole groups.
    const int passes = (count - FIRST_GROUP) / GROUP_TOKENS * (BLOCKS / ROW_BLOCKS);
    for (int k0 = 0; k0 < K;) {
      const Parts parts = parts_from(K, k0);
      const int columns = parts.columns;
      // The bytes that are read next: the columns that follow, or the first columns of the rows that follow.
      const bool is_last = k0 + columns == K;
      const int next_row = is_last && begin + count == S ? row + ROWS : row, next_k = is_last ? 0 : k0 + columns;
      __global const uchar *ahead = PTR(const uchar, w) + next_row / 64 * panel_bytes + panel_bytes * next_k / K +
                                    FETCH_OFFSET(next_row % 64);
      const int share = (int)(panel_bytes * min(CHUNK, K - next_k) / K) / (1 + passes * parts.count);
      __global const float *a = PTR(const float, x) + begin * xs + k0;
      __global float *out = PTR(float, y) + begin * ys + row;
      float16 sum[BLOCKS / ROW_BLOCKS][FIRST_GROUP][ROW_BLOCKS];
      for (int i = 0, k = 0; i < parts.count; ++i) {
#pragma unroll
        for (int b = 0; b < BLOCKS; b += ROW_BLOCKS)
          VARIANT_NAME(begin_sums, FIRST_GROUP)(sum[b / ROW_BLOCKS], &parts, i, cut + b);
        for (; k < parts.end[i]; k += STRIP) {
          const Strip r = load_strip(PTR(const uchar, w) + row / 64 * panel_bytes, (k0 + k) / STRIP, row % 64);
          const int end = min(k + STRIP, columns);
          decode_strip(&r, end - k, decoded + PANEL_AT(k, 0), ahead + k * share / CHUNK, share * STRIP / CHUNK);
#pragma unroll
          for (int b = 0; b < BLOCKS; b += ROW_BLOCKS)
            VARIANT_NAME(add_columns, FIRST_GROUP)(sum[b / ROW_BLOCKS], decoded + PANEL_AT(0, b), a, k, end, token);
        }
#pragma unroll
        for (int b = 0; b < BLOCKS; b += ROW_BLOCKS)
          VARIANT_NAME(end_sums, FIRST_GROUP)(sum[b / ROW_BLOCKS], &parts, i, cut + b, out + b * 16, ys, rows - b * 16);
      }
      for (int i = 0, k = 0; i < parts.count; k = parts.end[i++]) {
        for (int b = 0; b < BLOCKS; b += ROW_BLOCKS) {
          __local const float16 *panel = decoded + PANEL_AT(0, b);
          __global float *to = out + b * 16;
          float16 *sums = cut + b;
          const int left = rows - b * 16;
          int s = FIRST_GROUP;
          for (; s + GROUP_TOKENS <= count; s += GROUP_TOKENS) {
            ahead += share;
            for (int line = 0; line < share; line += FETCH_STEP) PREFETCH(ahead, line);
            PASS(GROUP_TOKENS);
          }
          if (count - s >= 4) {
            PASS(4);
            s += 4;
          }
          if (count - s >= 2) {
            PASS(2);
            s += 2;
          }
          if (count > s) PASS(1);
        }
      }
      k0 += columns;
    }
  }
}
#endif
#endif
