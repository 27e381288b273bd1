// y[s, n] = sum over k of w[n, k] * x[s, k] with f32, f16 or bf16 packed weights, for GPUs (simt family).
//
// Layout: element (row r of the panel, column k) at index k*64 + r. With ROW_PIECES as in row_piece.cl.
// Options: ELEMENT 0 f32, 1 f16, 2 bf16.
// Work mapping and limits: matmul_simt.cl, and matmul_rows_simt.cl with ROW_PIECES. K is any number, also odd: columns past K count as zero.
#include "row_piece.cl"
#if ELEMENT == 0
#define ELEMENT_BYTES 4
#else
#define ELEMENT_BYTES 2
#endif
#define PIECE_COLUMNS (16 / ELEMENT_BYTES)

#if ROW_PIECES
typedef uint4 Piece;

// The piece of row r that begins with column k.
INLINE Piece load_piece(__global const uchar *panel, const int r, const int k) {
  return row_piece(panel + (size_t)(k / PIECE_COLUMNS) * 1024, r);
}

// All columns of the piece; e is 0.
INLINE void decode(const Piece piece, const int e, float *w) {
#pragma unroll
  for (int j = 0; j < PIECE_COLUMNS; ++j) {
#if ELEMENT == 0
    w[j] = as_float(word_of(piece, j));
#else
    const ushort bits = word_of(piece, j / 2) >> 16 * (j % 2);
#if ELEMENT == 1
    w[j] = vload_half(0, (__private const half *)&bits);
#else
    w[j] = as_float((uint)bits << 16);
#endif
#endif
  }
}
#endif

#if ROW_PIECES && defined(TOKENS)
#include "add_run_exact.cl"
#include "runs.cl"
#include "matmul_rows_simt.cl"

#elif ROW_PIECES
// Rows of pieces have whole eights of columns.
INLINE void load_columns(__global const uchar *panel, const int r, const int k, const int K, float *w) {
#pragma unroll
  for (int j = 0; j < 8; ++j) w[j] = 0.0f;
  if (k >= K) return;
  decode(load_piece(panel, r, k), 0, w);
#if ELEMENT == 0
  decode(load_piece(panel, r, k + 4), 0, w + 4);
#endif
}
#include "matmul_simt.cl"

#else
INLINE void load_columns(__global const uchar *panel, const int r, const int k, const int K, float *w) {
  for (int j = 0; j < 8; ++j) {
    const size_t at = ELEMENT_INDEX(k + j, r, PIECE_COLUMNS);
    w[j] = 0.0f;
    if (k + j < K) {
#if ELEMENT == 0
      w[j] = ((__global const float *)panel)[at];
#elif ELEMENT == 1
      w[j] = vload_half(at, (__global const half *)panel);
#else
      w[j] = as_float((uint)((__global const ushort *)panel)[at] << 16);
#endif
    }
  }
}
#include "matmul_simt.cl"
#endif
