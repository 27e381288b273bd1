// The function that passes SUM_TOKENS tokens over a decoded chunk. matmul_act8_simd.cl includes this file once for each
// number of tokens; it is never built alone.
//
// Work: BLOCKS blocks of 16 rows at a time. x[t] and y[t] point to token t's rows of words and of results. `first` says
//   that sums start at 0; otherwise they start at the results so far in y. The file undefines SUM_TOKENS at its end.
INLINE void VARIANT_NAME(sum_tokens, SUM_TOKENS)(const Chunk *chunk, const int tiles, __global const uint *const *x,
                                                 __global float *const *y, const int first, const int rows) {
  for (int base = 0; base < 4; base += BLOCKS) {
    float16 acc[SUM_TOKENS][BLOCKS];
#pragma unroll
    for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        const int row = (base + b) * 16;
        acc[t][b] = first ? (float16)(0.0f) : load_rows(y[t] + row, rows - row);
      }
    for (int tile = 0; tile < tiles; ++tile) {
      if (base == 0)
        for (int line = 0; line < chunk->share; line += 64) PREFETCH(chunk->ahead, tile * chunk->share + line);
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) {
        Sum sum[SUM_TOKENS][BLOCKS];
        int codes[SUM_TOKENS];
#pragma unroll
        for (int t = 0; t < SUM_TOKENS; ++t) {
          codes[t] = codes_of(x[t] + tile * ACT_WORDS, g);
#pragma unroll
          for (int b = 0; b < BLOCKS; ++b) sum[t][b] = start_products(-BIAS * codes[t]);
        }
#pragma unroll
        for (int q = g * GROUP_QUADS; q < (g + 1) * GROUP_QUADS; ++q) {
          uint16 word[BLOCKS];
#pragma unroll
          for (int b = 0; b < BLOCKS; ++b) word[b] = chunk->words[(tile * QUADS + q) * 4 + base + b];
#pragma unroll
          for (int t = 0; t < SUM_TOKENS; ++t) {
            const uint a = x[t][tile * ACT_WORDS + q];
#pragma unroll
            for (int b = 0; b < BLOCKS; ++b) add_products(&sum[t][b], word[b], a);
          }
        }
#pragma unroll
        for (int t = 0; t < SUM_TOKENS; ++t) {
          const float of_x = as_float(x[t][tile * ACT_WORDS + ACT_SCALE]);
#pragma unroll
          for (int b = 0; b < BLOCKS; ++b) {
            const int at = (tile * GROUPS + g) * 4 + base + b;
            const int16 whole = all_products(&sum[t][b], -BIAS * codes[t]);
            acc[t][b] = fma(convert_float16(whole), chunk->scales[at] * of_x, acc[t][b]);
            if (MIN_KIND == 2) acc[t][b] = fma(chunk->lows[at], (float16)(of_x * (float)codes[t]), acc[t][b]);
          }
        }
      }
    }
#pragma unroll
    for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        const int row = (base + b) * 16;
        store_rows(acc[t][b], y[t] + row, rows - row);
      }
  }
}
#undef SUM_TOKENS
