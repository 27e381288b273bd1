// The matmul kernels of few tokens over weights in pieces of rows (row_piece.cl). The simt kernels include this file
// where a graphics card keeps its weights so; it is never built alone.
//
// Contract: the runs of runs.cl, as in matmul_simt.cl; the bits are the same.
// Work mapping: a group of ROWS x RUNS per ROWS rows (dimension 0), so that small matrices fill a large card too.
//   Work-item (r, run) computes one run of one row, a step of 32 bytes at a time. It loads two steps ahead of the one
//   that it multiplies with. Then the group adds up the runs of each row and token.
//   Dimensions 1 and 2 of grouped_small_batch are as in matmul_simt.cl.
// Options: TOKENS; ALIGNED_X: rows of x begin at multiples of 16 bytes. The including file defines STEP_COLUMNS, Step,
//   load_step(panel, r, k, K) and decode(step, e, w), which gives columns 8 e to 8 e + 7 of the step.
// Limits: groups of 128. Local memory: 512 bytes * TOKENS. Dense: K is a multiple of 8. Rows from row_end on are padding
//   and are never written.
#include "runs.cl"
#define ROWS 8
#define AHEAD 2  // steps that are loaded before they are multiplied

// Eight values of a token.
INLINE void load_eight(__global const float *x, float *values) {
#if ALIGNED_X
  const float4 first = ((__global const float4 *)x)[0], second = ((__global const float4 *)x)[1];
  values[0] = first.x, values[1] = first.y, values[2] = first.z, values[3] = first.w;
  values[4] = second.x, values[5] = second.y, values[6] = second.z, values[7] = second.w;
#else
#pragma unroll
  for (int j = 0; j < 8; ++j) values[j] = x[j];
#endif
}

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
  Step ahead[AHEAD];
#pragma unroll
  for (int d = 0; d < AHEAD; ++d)
    if (k + d * STEP_COLUMNS < end) ahead[d] = load_step(panel, row, k + d * STEP_COLUMNS, K);
  for (; k < end; k += AHEAD * STEP_COLUMNS) {
#pragma unroll
    for (int d = 0; d < AHEAD; ++d) {
      const int first = k + d * STEP_COLUMNS, next = first + AHEAD * STEP_COLUMNS;
      if (first >= end) break;
      const Step step = ahead[d];
      if (next < end) ahead[d] = load_step(panel, row, next, K);
#pragma unroll
      for (int e = 0; e < STEP_COLUMNS / 8; ++e) {
        if (first + 8 * e >= end) break;
        float weights[8];
        decode(step, e, weights);
#pragma unroll
        for (int t = 0; t < TOKENS; ++t) {
          float values[8];
          load_eight(x + (size_t)t * x_stride + first + 8 * e, values);
#pragma unroll
          for (int j = 0; j < 8; ++j) sums[t] = fma(weights[j], values[j], sums[t]);
        }
      }
    }
  }
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) parts[(run * TOKENS + t) * ROWS + r] = sums[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  store_totals(parts, first_row, row_end, FIRST_Y, y_stride);
}
#endif
