// The function that passes SUM_TOKENS tokens over a decoded chunk. matmul_act8_simd.cl includes this file once for each
// number of tokens; it is never built alone.
//
// Work: BLOCKS blocks of 16 rows at a time. x[t] and y[t] point to token t's rows of words and of totals. `cut` has four
//   vectors for each token, with the sums of a run that a chunk's end cuts (chunks_simd.cl). The file undefines
//   SUM_TOKENS at its end.
INLINE void VARIANT_NAME(sum_tokens, SUM_TOKENS)(const Chunk *chunk, const Parts *parts, __global const uint *const *x,
                                                 __global float *const *y, float16 *cut, const int rows) {
  for (int base = 0; base < 4; base += BLOCKS) {
    long tile = 0;
    for (int i = 0; i < parts->count; ++i) {
      // Pointers that move from tile to tile: with an index PoCL 3.1 holds addresses and spills sums (10 % of the time).
      __global const uint *of[SUM_TOKENS];
#pragma unroll
      for (int t = 0; t < SUM_TOKENS; ++t) of[t] = x[t] + tile * ACT_WORDS;
      const bool continues = i == 0 && parts->continues, is_first = i == 0 && parts->is_first;
      float16 acc[SUM_TOKENS][BLOCKS];
#pragma unroll
      for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) acc[t][b] = continues ? cut[t * 4 + base + b] : (float16)(0.0f);
      for (const long end = parts->end[i] / 32; tile < end; ++tile) {
        if (base == 0)
          for (int line = 0; line < chunk->share; line += 64) PREFETCH(chunk->ahead, tile * chunk->share + line);
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
          Sum sum[SUM_TOKENS][BLOCKS];
          int codes[SUM_TOKENS];
#pragma unroll
          for (int t = 0; t < SUM_TOKENS; ++t) {
            codes[t] = codes_of(of[t], g);
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
              const uint a = of[t][q];
#pragma unroll
              for (int b = 0; b < BLOCKS; ++b) add_products(&sum[t][b], word[b], a);
            }
          }
#pragma unroll
          for (int t = 0; t < SUM_TOKENS; ++t) {
            const float of_x = as_float(of[t][ACT_SCALE]);
#pragma unroll
            for (int b = 0; b < BLOCKS; ++b) {
              const int at = (tile * GROUPS + g) * 4 + base + b;
              const int16 whole = all_products(&sum[t][b], -BIAS * codes[t]);
              acc[t][b] = fma(convert_float16(whole), chunk->scales[at] * of_x, acc[t][b]);
              if (MIN_KIND == 2) acc[t][b] = fma(chunk->lows[at], (float16)(of_x * (float)codes[t]), acc[t][b]);
            }
          }
        }
#pragma unroll
        for (int t = 0; t < SUM_TOKENS; ++t) of[t] += ACT_WORDS;
      }
      if (i + 1 == parts->count && parts->is_cut) {
#pragma unroll
        for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
          for (int b = 0; b < BLOCKS; ++b) cut[t * 4 + base + b] = acc[t][b];
        break;
      }
      if (rows >= 64 && !is_first) {  // the usual case, with few instructions
#pragma unroll
        for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
          for (int b = 0; b < BLOCKS; ++b) {
            __global float *at = y[t] + (base + b) * 16;
            STORE16(__global, vload16(0, at) + acc[t][b], at);
          }
        continue;
      }
      // A loop that is not unrolled, because store_rows() is long and the compiler's time counts.
      float16 sums[SUM_TOKENS * BLOCKS];
#pragma unroll
      for (int t = 0; t < SUM_TOKENS; ++t)
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) sums[t * BLOCKS + b] = acc[t][b];
#pragma nounroll
      for (int n = 0; n < SUM_TOKENS * BLOCKS; ++n) {
        const int row = (base + n % BLOCKS) * 16;
        __global float *at = y[n / BLOCKS] + row;
        store_rows((is_first ? (float16)(0.0f) : load_up_to(at, rows - row, 0.0f)) + sums[n], at, rows - row);
      }
    }
  }
}
#undef SUM_TOKENS
