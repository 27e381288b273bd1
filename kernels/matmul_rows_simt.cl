// The matmul kernels of few tokens over weights in pieces of rows (row_piece.cl). The simt kernels include this file
// where a graphics card keeps its weights so; it is never built alone.
//
// Contract: the runs of runs.cl, as in matmul_simt.cl; the bits are the same.
// Work mapping: a group of ROWS x RUNS per ROWS rows (dimension 0), so that small matrices fill a large card too.
//   Work-item (r, run) computes one run of one row. Then the group adds up the runs of each row and token.
//   Dimensions 1 and 2 of grouped_small_batch are as in matmul_simt.cl.
// Options: TOKENS. HAS_BIAS=1 adds bias[row] to a total before it is stored. HAS_RESIDUAL=1 adds what is stored to the
//   sum, f32 at s*sum_stride + row, as add_simt does. The including file defines add_run(panel, row, begin, end, x, x_stride, sums), which adds the products
//   of the columns from `begin` to `end` to the sums of TOKENS tokens.
// Limits: groups of 128. Local memory: 512 bytes * TOKENS. Rows from row_end on are padding and are never written.
#include "small_batch.cl"
#define ROWS 8
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif
#ifndef HAS_RESIDUAL
#define HAS_RESIDUAL 0
#endif

SMALL_BATCH_KERNEL(ROWS, RUNS) {
  FIND_OPERANDS
  __local float parts[RUNS * TOKENS * ROWS];  // [run][token][row]
  const int r = get_local_id(0), run = get_local_id(1), first_row = row_begin + (int)get_group_id(0) * ROWS;
  float sums[TOKENS];
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) sums[t] = 0.0f;
  add_run(PANELS + (first_row / 64) * panel_bytes, first_row % 64 + r, run_begin(K, run), run_end(K, run), FIRST_X, x_stride, sums);
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) parts[(run * TOKENS + t) * ROWS + r] = sums[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  // Each of the first ROWS * TOKENS work-items adds up the runs of one row and token, in ascending order.
  const int i = run * ROWS + r, row = first_row + r;
  if (i >= ROWS * TOKENS || row >= row_end) return;
  float total = 0.0f;
  for (int part = 0; part < RUNS; ++part) total += parts[part * ROWS * TOKENS + i];
#if HAS_BIAS
  total += PTR(const float, bias)[row];
#endif
  FIRST_Y[(long)run * y_stride + row] = total;
#if HAS_RESIDUAL
  PTR(float, sum)[(long)run * sum_stride + row] += total;
#endif
}
