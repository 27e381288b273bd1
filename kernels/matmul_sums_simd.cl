// The functions that sum SUM_TOKENS tokens x ROW_BLOCKS blocks of 16 rows over a decoded panel. matmul_simd.cl includes
// this file once for each number of tokens; it is never built alone.
//
// VARIANT_NAME() gives each function a name with its number of tokens. The file undefines SUM_TOKENS at its end.

// Starts sums at 0, or at the results so far in y.
INLINE void VARIANT_NAME(begin_sums, SUM_TOKENS)(float16 sum[SUM_TOKENS][ROW_BLOCKS], __global const float *y,
                                                 int first, ROWS_OF_Y, int rows) {
#pragma unroll
  for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
    for (int b = 0; b < ROW_BLOCKS; ++b)
      sum[t][b] = first ? (float16)(0.0f) : load_rows(y + Y_ROW(t) + b * 16, rows - b * 16);
}

// Adds the products of columns [begin, end). x + token[t] is the address of token t's first column.
INLINE void VARIANT_NAME(add_columns, SUM_TOKENS)(float16 sum[SUM_TOKENS][ROW_BLOCKS], __local const float16 *panel,
                                                  __global const float *x, int begin, int end, const long *token) {
#pragma unroll 4
  for (long k = begin; k < end; ++k) {
    float16 w[ROW_BLOCKS];
#pragma unroll
    for (int b = 0; b < ROW_BLOCKS; ++b) w[b] = panel[k * ROW_BLOCKS + b];
#pragma unroll
    for (int t = 0; t < SUM_TOKENS; ++t) {
      const float16 a = (float16)(x[token[t] + k]);
#pragma unroll
      for (int b = 0; b < ROW_BLOCKS; ++b) sum[t][b] = fma(w[b], a, sum[t][b]);
    }
  }
}

// Stores the sums to y.
INLINE void VARIANT_NAME(end_sums, SUM_TOKENS)(float16 sum[SUM_TOKENS][ROW_BLOCKS], __global float *y, ROWS_OF_Y,
                                               int rows) {
#pragma unroll
  for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
    for (int b = 0; b < ROW_BLOCKS; ++b) store_rows(sum[t][b], y + Y_ROW(t) + b * 16, rows - b * 16);
}

// Passes the tokens over all columns of a panel.
INLINE void VARIANT_NAME(pass_tokens, SUM_TOKENS)(__local const float16 *panel, __global const float *x,
                                                  __global float *y, int columns, int first, const long *token,
                                                  ROWS_OF_Y, int rows) {
  float16 sum[SUM_TOKENS][ROW_BLOCKS];
  VARIANT_NAME(begin_sums, SUM_TOKENS)(sum, y, first, Y_ROWS, rows);
  VARIANT_NAME(add_columns, SUM_TOKENS)(sum, panel, x, 0, columns, token);
  VARIANT_NAME(end_sums, SUM_TOKENS)(sum, y, Y_ROWS, rows);
}
#undef SUM_TOKENS
