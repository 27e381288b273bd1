// The matmul kernels of the simd family, over load_run(), load_pair() and RUN of a weight format. Not a source of its own; included.
//
// Contract (docs/numbers.md): acc = fma(w, a, acc), k ascending, one chain per output element. All variants give the same bits: speed comes
//   from many rows (lanes) and tokens (registers) at once.
// Layout: x f32 [S, K] with x_stride, y f32 [S, N] with y_stride, both unaligned (vload/vstore only). panel p of w starts at p * panel_bytes.
// Work mapping, local size 1, no barriers:
//   matmul_few (option TOKENS = 1..8, BLOCKS = 4 or 2): work-item u computes rows row_begin + u*16*BLOCKS and the next, TOKENS tokens; the
//     weights are decoded once, the sums stay in registers. TOKENS = 1 is the GEMV.
//   matmul_gemm (no TOKENS, BLOCKS = 2): work-item u owns 32 rows and all S tokens. It decodes 256 columns to a local f32
//     panel and passes the tokens over it, eight at a time (8 x 32 sums in registers); between panels the sums wait in y.
//     The first eight tokens go run by run with the decoding, which the multiply-adds of one run hide for the next. Each
//     eight tokens fetch a share of the bytes that come next: F16 from memory 195 GFLOP/s without, 218 with.
// Limits: rows from row_end on are padding and never written. gemm: S >= 8, 32 KiB of local memory.
#define ROWS (BLOCKS * 16)

// Rows that do not fill a vector: only the last ones of a matrix.
INLINE void store_rows(float16 value, __global float *y, int rows) {
  if (rows >= 16) {
    STORE16(__global, value, y);
  } else {
    float lanes[16];
    STORE16(__private, value, lanes);
    for (int r = 0; r < rows; ++r) y[r] = lanes[r];
  }
}

#ifdef TOKENS
__kernel void matmul_few(BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes, const int K, const int row_begin,
                         const int row_end, const int x_stride, const int y_stride) {
  const int row = row_begin + (int)get_global_id(0) * ROWS;
  const int lane = row % 64;
  __global const uchar *panel = AT(const uchar, w) + (row / 64) * panel_bytes;
  __global const float *a = AT(const float, x);
  float16 sum[TOKENS][BLOCKS];
#pragma unroll
  for (int t = 0; t < TOKENS; ++t)
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) sum[t][b] = 0;
  for (int run = 0; run < K / RUN; ++run) {
    const Run r = load_run(panel, run, lane);
    for (int pair = 0; pair < RUN / 2; ++pair, a += 2) {
      float16 first[BLOCKS], second[BLOCKS];
      load_pair(&r, pair, first, second);
#pragma unroll
      for (int t = 0; t < TOKENS; ++t) {
        const float a0 = a[(long)t * x_stride], a1 = a[(long)t * x_stride + 1];
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) sum[t][b] = fma(first[b], (float16)(a0), sum[t][b]);
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) sum[t][b] = fma(second[b], (float16)(a1), sum[t][b]);
      }
    }
  }
#ifdef ANY_COLUMNS
  const Run r = load_run(panel, K / RUN, lane);
  for (int column = 0; column < K % RUN; ++column, ++a)
#pragma unroll
    for (int t = 0; t < TOKENS; ++t)
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b)
        sum[t][b] = fma(load_column(&r, column, b), (float16)(a[(long)t * x_stride]), sum[t][b]);
#endif
#pragma unroll
  for (int t = 0; t < TOKENS; ++t)
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b)
      store_rows(sum[t][b], AT(float, y) + (long)t * y_stride + row + b * 16, row_end - row - b * 16);
}

#else
#define CHUNK 256

INLINE float16 load_rows(__global const float *y, int rows) {
  if (rows >= 16) return vload16(0, y);
  float lanes[16];
  for (int r = 0; r < 16; ++r) lanes[r] = r < rows ? y[r] : 0.0f;
  return vload16(0, lanes);
}

// The sums of T tokens x 32 rows over columns [begin, end) of the decoded panel.
#define DEFINE_SUMS(T)                                                                                                 \
  INLINE void begin_##T(float16 sum[T][2], __global const float *y, int first, long y_stride, int rows) {              \
    _Pragma("unroll") for (int t = 0; t < T; ++t) {                                                                    \
      sum[t][0] = first ? (float16)(0.0f) : load_rows(y + t * y_stride, rows);                                         \
      sum[t][1] = first ? (float16)(0.0f) : load_rows(y + t * y_stride + 16, rows - 16);                               \
    }                                                                                                                  \
  }                                                                                                                    \
  INLINE void add_##T(float16 sum[T][2], __local const float16 *panel, __global const float *x, int begin, int end,    \
                      const long *token) {                                                                             \
    _Pragma("unroll 4") for (long k = begin; k < end; ++k) {                                                           \
      const float16 w0 = panel[k * 2], w1 = panel[k * 2 + 1];                                                          \
      _Pragma("unroll") for (int t = 0; t < T; ++t) {                                                                  \
        const float16 a = (float16)(x[token[t] + k]);                                                                  \
        sum[t][0] = fma(w0, a, sum[t][0]);                                                                             \
        sum[t][1] = fma(w1, a, sum[t][1]);                                                                             \
      }                                                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  INLINE void end_##T(float16 sum[T][2], __global float *y, long y_stride, int rows) {                                 \
    _Pragma("unroll") for (int t = 0; t < T; ++t) {                                                                    \
      store_rows(sum[t][0], y + t * y_stride, rows);                                                                   \
      store_rows(sum[t][1], y + t * y_stride + 16, rows - 16);                                                         \
    }                                                                                                                  \
  }                                                                                                                    \
  INLINE void tokens_##T(__local const float16 *panel, __global const float *x, __global float *y, int columns,        \
                         int first, const long *token, long y_stride, int rows) {                                      \
    float16 sum[T][2];                                                                                                 \
    begin_##T(sum, y, first, y_stride, rows);                                                                          \
    add_##T(sum, panel, x, 0, columns, token);                                                                         \
    end_##T(sum, y, y_stride, rows);                                                                                   \
  }
DEFINE_SUMS(8)
DEFINE_SUMS(4)
DEFINE_SUMS(2)
DEFINE_SUMS(1)

// Decodes `columns` columns of a run to the local panel, and fetches `share` bytes from `ahead` on.
INLINE void decode_run(const Run *r, int columns, __local float16 *decoded, __global const uchar *ahead, int share) {
  for (int pair = 0; pair < columns / 2; ++pair) {
    PREFETCH(ahead, 2 * pair * share / RUN);
    float16 first[BLOCKS], second[BLOCKS];
    load_pair(r, pair, first, second);
    __local float16 *at = decoded + pair * 4;
    at[0] = first[0];
    at[1] = first[1];
    at[2] = second[0];
    at[3] = second[1];
  }
#ifdef ANY_COLUMNS
  if (columns % 2) {
    decoded[(columns - 1) * 2] = load_column(r, columns - 1, 0);
    decoded[(columns - 1) * 2 + 1] = load_column(r, columns - 1, 1);
  }
#endif
}

__kernel void matmul_gemm(BUFFER(w), BUFFER(x), BUFFER(y), const ulong panel_bytes, const int K, const int row_begin,
                          const int row_end, const int x_stride, const int y_stride, const int S) {
  __local float16 decoded[CHUNK * 2];
  const int row = row_begin + (int)get_global_id(0) * ROWS;
  const int rows = row_end - row;
  const long xs = x_stride, ys = y_stride;
  // Where the tokens' rows begin, as far as the compiler knows anywhere: from one stride it makes chains of additions,
  // one for each load, which take the multiply-adds' ports (Intel: 9 % of the time).
  volatile long stride = x_stride;
  long token[8];
  for (int t = 0; t < 8; ++t) token[t] = t * stride;
  for (int k0 = 0; k0 < K; k0 += CHUNK) {
    const int columns = min(CHUNK, K - k0);
    // What comes next: the columns that follow, or the first ones of the next work-item's rows.
    const int next_row = k0 + columns < K ? row : row + ROWS, next_k = k0 + columns < K ? k0 + columns : 0;
    __global const uchar *ahead = AT(const uchar, w) + next_row / 64 * panel_bytes + panel_bytes * next_k / K +
                                  FETCH_OFFSET(next_row % 64);
    const int share = (int)(panel_bytes * min(CHUNK, K - next_k) / K) / (S / 8);  // for each eight tokens
    __global const float *a = AT(const float, x) + k0;
    __global float *out = AT(float, y) + row;
    float16 sum[8][2];
    begin_8(sum, out, k0 == 0, ys, rows);
    for (int k = 0; k < columns; k += RUN) {
      const Run r = load_run(AT(const uchar, w) + row / 64 * panel_bytes, (k0 + k) / RUN, row % 64);
      const int end = min(k + RUN, columns);
      decode_run(&r, end - k, decoded + k * 2, ahead + k * share / CHUNK, share * RUN / CHUNK);
      add_8(sum, decoded, a, k, end, token);
    }
    end_8(sum, out, ys, rows);
    int s = 8;
    for (; s + 8 <= S; s += 8) {
      ahead += share;
      for (int line = 0; line < share; line += FETCH_STEP) PREFETCH(ahead, line);
      tokens_8(decoded, a + s * xs, out + s * ys, columns, k0 == 0, token, ys, rows);
    }
    if (S - s >= 4) {
      tokens_4(decoded, a + s * xs, out + s * ys, columns, k0 == 0, token, ys, rows);
      s += 4;
    }
    if (S - s >= 2) {
      tokens_2(decoded, a + s * xs, out + s * ys, columns, k0 == 0, token, ys, rows);
      s += 2;
    }
    if (S > s) tokens_1(decoded, a + s * xs, out + s * ys, columns, k0 == 0, token, ys, rows);
  }
}
#endif
