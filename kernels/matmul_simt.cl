// The matmul kernels of the simt family, on top of load_columns() of a weight format. Other kernels include this file;
// it is never built alone.
//
// Contract (docs/numbers.md): a run of columns is one chain acc = fma(w, a, acc), k ascending, and runs are added in
//   ascending order (runs.cl). Both kernels follow this exactly, as the simd family does.
// Layout: x f32 [S, K] with x_stride, y f32 [S, N] with y_stride. Panel p of w (64 rows) starts at p * panel_bytes.
// Work mapping:
//   matmul_small_batch (option TOKENS = S): a group per panel, as runs_simt.cl says. TOKENS = 1 is the GEMV.
//   matmul_gemm: a group of 256 per 64 rows (dimension 0) and 64 tokens (dimension 1). It decodes a tile of 64 rows x
//   32 columns and one of 64 tokens x 32 columns to local memory. Work-item (tx, ty) of 16 x 16 sums rows tx, tx+16,
//   tx+32, tx+48 of tokens 4 ty .. 4 ty + 3.
//   -DGROUPED=1 (engine/device/operators/grouped_matmul.h) multiplies with a stack of matrices. Rows of x start at
//   s*x_stride + slot*x_slot, rows of y at s*y_stride + slot*y_slot. Matrix m starts at m * matrix_bytes.
//   grouped_small_batch: dimension 1 is the slot, and dimension 2 counts the tokens, TOKENS at a time. The matrix is
//   ids[s*slots + slot], or matrix `slot` (-DHAS_IDS=0).
//   grouped_gemm: matmul_gemm for the choices of grouped_gemm.cl.
// Limits: groups of 256 (wide: 1,024). Local memory: few 1.25 KiB * TOKENS (wide 4.25 KiB * TOKENS), gemm 17 KiB (18
//   grouped). Rows from row_end on are padding and are never written.
#include "runs_simt.cl"

#ifdef TOKENS
#include "small_batch.cl"

SMALL_BATCH_KERNEL(64, AT_ONCE) {
  FIND_OPERANDS
  __local float parts[AT_ONCE * TOKENS * 64], totals[TOKENS * 64];
  const int r = get_local_id(0), lane = get_local_id(1);
  const int first_row = row_begin + (int)get_group_id(0) * 64, row = first_row + r;
  __global const uchar *panel = PANELS + (first_row / 64) * panel_bytes;
  __global const float *x = FIRST_X;
  for (int first = 0; first < RUNS; first += AT_ONCE) {
    const int begin = run_begin(K, first + lane), end = run_end(K, first + lane);
    float sums[TOKENS];
    for (int t = 0; t < TOKENS; ++t) sums[t] = 0.0f;
    for (int k = begin; k < end; k += 8) {
      float weights[8];
      load_columns(panel, r, k, K, weights);
      for (int j = 0; j < 8; ++j) {
        if (k + j >= K) break;
        for (int t = 0; t < TOKENS; ++t) sums[t] = fma(weights[j], x[(size_t)t * x_stride + k + j], sums[t]);
      }
    }
    add_runs(parts, totals, sums, first);
  }
  for (int t = lane; t < TOKENS && row < row_end; t += AT_ONCE) FIRST_Y[(size_t)t * y_stride + row] = totals[t * 64 + r];
}

#else
#define PITCH 33  // columns of a token in local memory: one more than 32, so that 16 tokens lie in different banks

#include "many_tokens.cl"

GEMM_KERNEL() {
  FIND_TILE
  __local float weights[32 * 64], tokens[64 * PITCH];
  const int id = get_local_id(0), tx = id % 16, ty = id / 16;
  __global const uchar *panel = PANELS + (first_row / 64) * panel_bytes;
  __global const float *x = PTR(const float, x);
  float total[16], run[16];  // [4 tokens][4 rows]
  for (int i = 0; i < 16; ++i) total[i] = run[i] = 0.0f;
  int part = 0;
  for (int begin = 0; begin < K; begin += 32) {
    const int current = run_of(K, begin);
    if (current != part) end_run(total, run, 16);
    part = current;
    float columns[8];
    load_columns(panel, id % 64, begin + id / 64 * 8, K, columns);
    for (int j = 0; j < 8; ++j) weights[(id / 64 * 8 + j) * 64 + id % 64] = columns[j];
    for (int i = id; i < 64 * 32; i += 256) {
      const int token = first_token + i / 32, k = begin + i % 32;
      tokens[i / 32 * PITCH + i % 32] = token < S && k < K ? x[X_ROW(token) + k] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 32; ++k) {
      float a[4], b[4];
      for (int r = 0; r < 4; ++r) b[r] = weights[k * 64 + tx + r * 16];
      for (int t = 0; t < 4; ++t) a[t] = tokens[(ty * 4 + t) * PITCH + k];
      for (int t = 0; t < 4; ++t) {
        for (int r = 0; r < 4; ++r) run[t * 4 + r] = fma(b[r], a[t], run[t * 4 + r]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int t = 0; t < 4; ++t) {
    const int token = first_token + ty * 4 + t;
    for (int r = 0; r < 4; ++r) {
      const int row = first_row + tx + r * 16;
      if (token < S && row < row_end) PTR(float, y)[Y_ROW(token) + row] = total[t * 4 + r] + run[t * 4 + r];
    }
  }
}
#endif
