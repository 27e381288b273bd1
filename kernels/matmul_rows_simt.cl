// The matmul kernels of few tokens over weights in pieces of rows (row_piece.cl). The simt kernels include this file
// where a graphics card keeps its weights so; it is never built alone.
//
// Contract: the runs of runs.cl, as in matmul_simt.cl; the bits are the same.
// Work mapping: a group of ROWS x RUNS per ROWS rows (dimension 0), so that small matrices fill a large card too.
//   Work-item (r, run) computes one run of one row. Then the group adds up the runs of each row and token.
//   Dimensions 1 and 2 of grouped_small_batch are as in matmul_simt.cl.
// Options: TOKENS. HAS_BIAS=1 adds bias[row] to a total before it is stored. HAS_RESIDUAL=1 adds what is stored to
//   `beside`, f32 at s*beside_stride + row, as add_simt does. HAS_UNIT=1 computes glu_simt of what is stored, with the
//   options of glu_options.cl, into `beside`. With GATED the first half of the rows are gates, and a group has 4 of them
//   and the same 4 rows of the second half.
//   The including file defines add_run(panel, row, begin, end, x, x_stride, sums). It adds the products of the columns
//   from `begin` to `end` to the sums of TOKENS tokens.
// Limits: groups of 128. Local memory: 512 bytes * TOKENS. Rows from row_end on are padding and are never written.
#include "small_batch.cl"
#define ROWS 8
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif
#ifndef HAS_RESIDUAL
#define HAS_RESIDUAL 0
#endif
#ifndef HAS_UNIT
#define HAS_UNIT 0
#endif
#if HAS_UNIT
#include "glu_of.cl"
#endif
#if HAS_UNIT && GATED
#define ROW_OF(group, r) ((group) * (ROWS / 2) + (r) % (ROWS / 2) + (r) / (ROWS / 2) * (row_end / 2))
#else
#define ROW_OF(group, r) (row_begin + (group) * ROWS + (r))
#endif

SMALL_BATCH_KERNEL(ROWS, RUNS) {
  FIND_OPERANDS
  __local float parts[RUNS * TOKENS * ROWS];  // [run][token][row]
  const int r = get_local_id(0), run = get_local_id(1), row = ROW_OF((int)get_group_id(0), r);
  float sums[TOKENS];
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) sums[t] = 0.0f;
  add_run(PANELS + (row / 64) * panel_bytes, row % 64, run_begin(K, run), run_end(K, run), FIRST_X, x_stride, sums);
#pragma unroll
  for (int t = 0; t < TOKENS; ++t) parts[(run * TOKENS + t) * ROWS + r] = sums[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  // Each of the first ROWS * TOKENS work-items adds up the runs of one row and token, in ascending order. The token's
  // number is `run`.
  const int i = run * ROWS + r;
  const bool stores = i < ROWS * TOKENS && row < row_end;
  float total = 0.0f;
  if (stores) {
    for (int part = 0; part < RUNS; ++part) total += parts[part * ROWS * TOKENS + i];
#if HAS_BIAS
    total += PTR(const float, bias)[row];
#endif
    FIRST_Y[(long)run * y_stride + row] = total;
  }
#if HAS_RESIDUAL
  if (stores) PTR(float, beside)[(long)run * beside_stride + row] += total;
#endif
#if HAS_UNIT && GATED
  if (stores) parts[i] = total;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (stores && r < ROWS / 2) PTR(float, beside)[(long)run * beside_stride + row] = glu_of(total, parts[i + ROWS / 2]);
#elif HAS_UNIT
  if (stores) PTR(float, beside)[(long)run * beside_stride + row] = glu_of(total, 0.0f);
#endif
}
