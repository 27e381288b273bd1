// The matmul kernels of few tokens over weights in pieces of rows (row_piece.cl). The simt kernels include this file
// where a graphics card keeps its weights so; it is never built alone.
//
// Contract: the runs of runs.cl, as in matmul_simt.cl; the bits are the same.
// Work mapping: a group of ROWS x RUNS per ROWS rows (dimension 0), so that small matrices fill a large card too.
//   Work-item (r, run) computes one run of one row, a piece of 16 bytes at a time. It loads AHEAD pieces before it
//   multiplies with the first of them. Then the group adds up the runs of each row and token.
//   Dimensions 1 and 2 of grouped_small_batch are as in matmul_simt.cl.
// Options: TOKENS; ALIGNED_X: rows of x begin at multiples of 16 bytes. The including file defines PIECE_COLUMNS, Piece,
//   load_piece(panel, r, k) and decode(piece, e, w). The last one gives the UNIT columns of a piece from e UNIT on.
// Limits: groups of 128. Local memory: 512 bytes * TOKENS. Dense: K is a multiple of 8. Rows from row_end on are padding
//   and are never written.
#include "runs.cl"
#define ROWS 8

// Adds up the runs of ROWS rows in ascending order, and stores the results of the rows before row_end. parts[run][token]
// [row] are the sums. All work-items of the group must have stored theirs behind a barrier.
INLINE void store_totals(__local const float *parts, const int first_row, const int row_end, __global float *y, const long y_stride) {
  const int i = get_local_id(1) * ROWS + get_local_id(0), row = first_row + i % ROWS;
  if (i >= ROWS * TOKENS || row >= row_end) return;
  float total = 0.0f;
  for (int run = 0; run < RUNS; ++run) total += parts[run * ROWS * TOKENS + i];
  y[i / ROWS * y_stride + row] = total;
}

#ifndef ACT_WORDS
#define AHEAD 4
#define UNIT (PIECE_COLUMNS < 8 ? PIECE_COLUMNS : 8)  // columns that are decoded at once

// UNIT values of a token.
INLINE void load_unit(__global const float *x, float *values) {
#if ALIGNED_X
#pragma unroll
  for (int i = 0; i < UNIT / 4; ++i) {
    const float4 four = ((__global const float4 *)x)[i];
    values[4 * i] = four.x, values[4 * i + 1] = four.y, values[4 * i + 2] = four.z, values[4 * i + 3] = four.w;
  }
#else
  for (int j = 0; j < UNIT; ++j) values[j] = x[j];
#endif
}

#ifdef GROUPED
#include "grouped_small_batch.cl"
__kernel __attribute__((reqd_work_group_size(ROWS, RUNS, 1))) void grouped_small_batch(GROUPED_SMALL_BATCH_ARGUMENTS) {
  const int row_begin = 0;
  const long slot = get_group_id(1), s = (long)get_group_id(2) * TOKENS, matrix = MATRIX_OF(s, slot);
#else
__kernel __attribute__((reqd_work_group_size(ROWS, RUNS, 1))) void matmul_small_batch(BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes,
                                                                             const int K, const int row_begin, const int row_end,
                                                                             const int x_stride, const int y_stride) {
#define PANELS PTR(const uchar, w)
#define FIRST_X PTR(const float, x)
#define FIRST_Y PTR(float, y)
#endif
  __local float parts[RUNS * TOKENS * ROWS];
  const int r = get_local_id(0), run = get_local_id(1);
  const int first_row = row_begin + (int)get_group_id(0) * ROWS, row = first_row % 64 + r;
  __global const uchar *panel = PANELS + (first_row / 64) * panel_bytes;
  __global const float *x = FIRST_X;
  const int end = run_end(K, run);
  int k = run_begin(K, run);
  float sums[TOKENS];
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) sums[t] = 0.0f;
  Piece ahead[AHEAD];
#pragma unroll
  for (int d = 0; d < AHEAD; ++d)
    if (k + d * PIECE_COLUMNS < end) ahead[d] = load_piece(panel, row, k + d * PIECE_COLUMNS);
  for (; k < end; k += PIECE_COLUMNS) {
    const Piece piece = ahead[0];
#pragma unroll
    for (int d = 1; d < AHEAD; ++d) ahead[d - 1] = ahead[d];
    const int next = k + AHEAD * PIECE_COLUMNS;
    if (next < end) ahead[AHEAD - 1] = load_piece(panel, row, next);
#pragma unroll
    for (int e = 0; e < PIECE_COLUMNS / UNIT; ++e) {
      float weights[UNIT];
      decode(piece, e, weights);
#pragma unroll
      for (int t = 0; t < TOKENS; ++t) {
        float values[UNIT];
        load_unit(x + (size_t)t * x_stride + k + UNIT * e, values);
#pragma unroll
        for (int j = 0; j < UNIT; ++j) sums[t] = fma(weights[j], values[j], sums[t]);
      }
    }
  }
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) parts[(run * TOKENS + t) * ROWS + r] = sums[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  store_totals(parts, first_row, row_end, FIRST_Y, y_stride);
}
#endif
