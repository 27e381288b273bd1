// The functions that sum SUM_TOKENS tokens x ROW_BLOCKS blocks of 16 rows over a decoded chunk. matmul_simd.cl includes
// this file once for each number of tokens; it is never built alone.
//
// Layout: `cut` has BLOCKS vectors for each token, with the sums of a run that a chunk's end cuts (chunks_simd.cl).
// VARIANT_NAME() gives each function a name with its number of tokens. The file undefines SUM_TOKENS at its end.

// Starts the sums of part i of a chunk, at 0 or at the sums so far of its run.
INLINE void VARIANT_NAME(begin_sums, SUM_TOKENS)(float16 sum[SUM_TOKENS][ROW_BLOCKS], const Parts *parts, const int i,
                                                 const float16 *cut) {
  const bool continues = i == 0 && parts->continues;
#pragma unroll
  for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
    for (int b = 0; b < ROW_BLOCKS; ++b) sum[t][b] = continues ? cut[t * BLOCKS + b] : (float16)(0.0f);
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

// Adds the sums of part i to the totals in y, if its run ends. Otherwise they wait in `cut`.
INLINE void VARIANT_NAME(end_sums, SUM_TOKENS)(float16 sum[SUM_TOKENS][ROW_BLOCKS], const Parts *parts, const int i,
                                               float16 *cut, __global float *y, ROWS_OF_Y, int rows) {
  const bool is_first = i == 0 && parts->is_first;
  if (i + 1 == parts->count && parts->is_cut) {
#pragma unroll
    for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
      for (int b = 0; b < ROW_BLOCKS; ++b) cut[t * BLOCKS + b] = sum[t][b];
    return;
  }
  if (rows >= ROW_BLOCKS * 16 && !is_first) {  // the usual case, with few instructions
#pragma unroll
    for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
      for (int b = 0; b < ROW_BLOCKS; ++b) {
        __global float *at = y + Y_ROW(t) + b * 16;
        STORE16(__global, vload16(0, at) + sum[t][b], at);
      }
    return;
  }
  // A loop that is not unrolled, because store_rows() is long and the compiler's time counts.
  float16 sums[SUM_TOKENS * ROW_BLOCKS];
#pragma unroll
  for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
    for (int b = 0; b < ROW_BLOCKS; ++b) sums[t * ROW_BLOCKS + b] = sum[t][b];
#pragma nounroll
  for (int n = 0; n < SUM_TOKENS * ROW_BLOCKS; ++n) {
    const int t = n / ROW_BLOCKS, left = rows - n % ROW_BLOCKS * 16;
    __global float *at = y + Y_ROW(t) + n % ROW_BLOCKS * 16;
    store_rows((is_first ? (float16)(0.0f) : load_up_to(at, left, 0.0f)) + sums[n], at, left);
  }
}

// Passes the tokens over part i of a chunk, which begins at column `begin`.
INLINE void VARIANT_NAME(pass_tokens, SUM_TOKENS)(__local const float16 *panel, const Parts *parts, const int i,
                                                  const int begin, __global const float *x, __global float *y,
                                                  float16 *cut, const long *token, ROWS_OF_Y, int rows) {
  float16 sum[SUM_TOKENS][ROW_BLOCKS];
  VARIANT_NAME(begin_sums, SUM_TOKENS)(sum, parts, i, cut);
  VARIANT_NAME(add_columns, SUM_TOKENS)(sum, panel, x, begin, parts->end[i], token);
  VARIANT_NAME(end_sums, SUM_TOKENS)(sum, parts, i, cut, y, Y_ROWS, rows);
}
#undef SUM_TOKENS
