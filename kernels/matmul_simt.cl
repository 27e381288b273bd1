// The matmul kernels of the simt family, on top of load_columns() of a weight format. Other kernels include this file;
// it is never built alone.
//
// Contract (docs/numbers.md): a run of columns is one chain acc = fma(w, a, acc), k ascending, and runs are added in
//   ascending order (runs.cl). Both kernels follow this exactly, as the simd family does.
// Layout: x f32 [S, K] with x_stride, y f32 [S, N] with y_stride. Panel p of w (64 rows) starts at p * panel_bytes.
// Work mapping:
//   matmul_small_batch (option TOKENS = S): a group per panel, as runs_simt.cl says. TOKENS = 1 is the GEMV.
//   matmul_gemm: a group of 128 per 64 rows (dimension 0) and 64 tokens (dimension 1). It decodes a tile of 64 rows x
//   32 columns and one of 64 tokens x 32 columns to local memory. Work-item (tx, ty) of 8 x 16 sums rows 4 tx .. 4 tx +
//   3, and the rows 32 behind them, of tokens 4 ty .. 4 ty + 3. So it loads three vectors for 32 multiply-adds.
//   -DGROUPED=1 (engine/device/operators/grouped_matmul.h) multiplies with a stack of matrices. Rows of x start at
//   s*x_stride + slot*x_slot, rows of y at s*y_stride + slot*y_slot. Matrix m starts at m * matrix_bytes.
//   grouped_small_batch: dimension 1 is the slot, and dimension 2 counts the tokens, TOKENS at a time. The matrix is
//   ids[s*slots + slot], or matrix `slot` (-DHAS_IDS=0).
//   grouped_gemm: matmul_gemm for the choices of grouped_gemm.cl.
// Limits: groups of 256 (wide: 1,024). Local memory: few 1.25 KiB * TOKENS (wide 4.25 KiB * TOKENS), gemm 16 KiB (17
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
#include "many_tokens.cl"

// Adds 32 columns of a work-item's tile to its sums: rows 4 tx .. 4 tx + 3 and 32 behind them, of four tokens.
INLINE void multiply_tile(__local const float4 *weights, __local const float4 *tokens, const int tx, const int ty, float4 *run) {
#pragma unroll 8
  for (int k = 0; k < 32; ++k) {
    const float4 low = weights[k * 16 + tx], high = weights[k * 16 + 8 + tx], a = tokens[k * 16 + (ty ^ k % 8)];
    run[0] = fma(low, (float4)(a.x), run[0]);
    run[1] = fma(high, (float4)(a.x), run[1]);
    run[2] = fma(low, (float4)(a.y), run[2]);
    run[3] = fma(high, (float4)(a.y), run[3]);
    run[4] = fma(low, (float4)(a.z), run[4]);
    run[5] = fma(high, (float4)(a.z), run[5]);
    run[6] = fma(low, (float4)(a.w), run[6]);
    run[7] = fma(high, (float4)(a.w), run[7]);
  }
}

INLINE void store_four_rows(__global float *y, const float4 sums, const int row, const int row_end) {
  if (row < row_end) y[row] = sums.x;
  if (row + 1 < row_end) y[row + 1] = sums.y;
  if (row + 2 < row_end) y[row + 2] = sums.z;
  if (row + 3 < row_end) y[row + 3] = sums.w;
}

GEMM_KERNEL() {
  FIND_TILE
  // A column has 16 vectors of four rows, and 16 of four tokens. Vector i of tokens lies at i ^ column % 8, so that the
  // work-items that move eight columns write to different banks.
  __local float4 weights[32 * 16], tokens[32 * 16];
  const int id = get_local_id(0), tx = id % 8, ty = id / 8;
  const int moved_row = id % 64, moved_columns = id / 64 * 16;              // 16 weights of a row
  const int moved_column = id % 8 + id / 32 * 8, moved_token = id / 8 % 4;  // a column of every fourth token
  __global const uchar *panel = PANELS + (first_row / 64) * panel_bytes;
  __global const float *x = PTR(const float, x);
  float4 total[8], run[8];        // [4 tokens][2]
  float columns[16], values[16];  // on their way to local memory
  for (int i = 0; i < 8; ++i) total[i] = run[i] = 0.0f;
  const int parts = (K + 31) / 32;
  int current = 0;
  // Weights and tokens are asked for while the part before them is multiplied. Compilers for cards unroll the loops over
  // them without a pragma, with which PoCL 3.1 computes NaN.
  for (int part = 0; part <= parts; ++part) {
    const int begin = part * 32;
    if (part < parts) {
      load_columns(panel, moved_row, begin + moved_columns, K, columns);
      load_columns(panel, moved_row, begin + moved_columns + 8, K, columns + 8);
      for (int i = 0; i < 16; ++i) {
        const int token = first_token + i * 4 + moved_token, k = begin + moved_column;
        values[i] = token < S && k < K ? x[X_ROW(token) + k] : 0.0f;
      }
    }
    if (part > 0) {
      const int of_part = run_of(K, begin - 32);
      if (of_part != current) end_run_of_vectors(total, run, 8);
      current = of_part;
      multiply_tile(weights, tokens, tx, ty, run);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (part < parts) {
      for (int j = 0; j < 16; ++j) ((__local float *)weights)[(moved_columns + j) * 64 + moved_row] = columns[j];
      for (int i = 0; i < 16; ++i) ((__local float *)tokens)[(moved_column * 16 + (i ^ moved_column % 8)) * 4 + moved_token] = values[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  end_run_of_vectors(total, run, 8);
  for (int t = 0; t < 4; ++t) {
    const int token = first_token + ty * 4 + t;
    if (token < S) {
      store_four_rows(PTR(float, y) + Y_ROW(token), total[2 * t], first_row + tx * 4, row_end);
      store_four_rows(PTR(float, y) + Y_ROW(token), total[2 * t + 1], first_row + 32 + tx * 4, row_end);
    }
  }
}
#endif
