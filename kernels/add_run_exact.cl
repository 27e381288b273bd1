// A run of few tokens with exact sums, for matmul_rows_simt.cl. The kernels of i4, i8 and dense weights include this file;
// it is never built alone.
//
// It loads AHEAD pieces before it multiplies with the first of them.
// Options: ALIGNED_X: rows of x begin at multiples of 16 bytes. The including file defines PIECE_COLUMNS, Piece,
//   load_piece(panel, r, k) and decode(piece, e, w). The last one gives the UNIT columns of a piece from e UNIT on.
// Limits: dense rows have a multiple of 8 columns.
#define AHEAD 4
#define UNIT (PIECE_COLUMNS < 8 ? PIECE_COLUMNS : 8)  // columns that are decoded at once

// UNIT values of a token.
INLINE void load_unit(__global const float *x, float *values) {
#if ALIGNED_X
#pragma unroll
  for (int i = 0; i < UNIT / 4; ++i) {
    const float4 four = ((__global const float4 *)x)[i];
    values[4 * i] = four.x, values[4 * i + 1] = four.y, values[4 * i + 2] = four.z, values[4 * i + 3] = four.w;
  }
#else
  for (int j = 0; j < UNIT; ++j) values[j] = x[j];
#endif
}

INLINE void add_run(__global const uchar *panel, const int row, const int begin, const int end, __global const float *x, const long x_stride,
                    float *sums) {
  Piece ahead[AHEAD];
#pragma unroll
  for (int d = 0; d < AHEAD; ++d)
    if (begin + d * PIECE_COLUMNS < end) ahead[d] = load_piece(panel, row, begin + d * PIECE_COLUMNS);
  for (int k = begin; k < end; k += PIECE_COLUMNS) {
    const Piece piece = ahead[0];
#pragma unroll
    for (int d = 1; d < AHEAD; ++d) ahead[d - 1] = ahead[d];
    const int next = k + AHEAD * PIECE_COLUMNS;
    if (next < end) ahead[AHEAD - 1] = load_piece(panel, row, next);
#pragma unroll
    for (int e = 0; e < PIECE_COLUMNS / UNIT; ++e) {
      float weights[UNIT];
      decode(piece, e, weights);
#pragma unroll
      for (int t = 0; t < TOKENS; ++t) {
        float values[UNIT];
        load_unit(x + t * x_stride + k + UNIT * e, values);
#pragma unroll
        for (int j = 0; j < UNIT; ++j) sums[t] = fma(weights[j], values[j], sums[t]);
      }
    }
  }
}
