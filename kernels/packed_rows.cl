// Decodes packed weights that lie in pieces of rows, piece by piece; the simt kernels of i4 and i8 share it. Other kernels
// include this file; it is never built alone.
//
// Layout: row_piece.cl; scales as in packed_tiles.cl, whose options these are. BITS 4 or 8; BOOK: code_book.cl, which the
// including file has.
#include "packed_tiles.cl"
#ifndef BOOK
#define BOOK 0
#endif
#define PIECE_COLUMNS (BITS == 4 ? 32 : 16)
#define SCALES (BITS == 4 ? 32 / GROUP : 1)

typedef struct {
  uint4 codes;
  float scales[SCALES], lows[SCALES];
} Piece;

// The piece of row r that begins with column k.
INLINE Piece load_piece(__global const uchar *panel, const int r, const int k) {
  Piece piece;
  const PackedTile tile = tile_at(panel, k / 32);
  piece.codes = row_piece(tile.quants + k % 32 / PIECE_COLUMNS * 1024, r);
#pragma unroll
  for (int g = 0; g < SCALES; ++g) {
    const int entry = (k % 32 / GROUP + g) * 64 + r;
    const float scale = scale_of(tile, entry);
    piece.scales[g] = scale;
#if MIN_KIND == 1
    piece.lows[g] = -((float)ZERO_POINT * scale);
#elif MIN_KIND == 2
    piece.lows[g] = minimum_of(tile, entry);
#endif
  }
  return piece;
}

// Code j of columns 8 e to 8 e + 7 as a float. The code is put into the last bits of 2^23, which is then subtracted: a
// graphics card converts integers at a quarter of the rate at which it adds. Both steps are exact.
INLINE float code_of_piece(const Piece piece, const int e, const int j) {
#if BOOK
  const uint code = numbers_of(word_of(piece.codes, e) >> 4 * (j % 2) & 0x0f0f0f0fu) >> 8 * (j / 2) & 255u;
  return as_float(0x4b000000u | (code ^ 128u)) - 8388736.0f;
#elif BITS == 4
  const uint code = word_of(piece.codes, e) >> 4 * j & 15u;
  return as_float(0x4b000000u | code) - 8388608.0f;
#else
  const uint code = word_of(piece.codes, e * 2 + j % 2) >> 8 * (j / 2) & 255u;
  return as_float(0x4b000000u | (code ^ 128u)) - 8388736.0f;  // signed bytes, moved to 0..255
#endif
}

// Columns 8 e to 8 e + 7 of the piece.
INLINE void decode(const Piece piece, const int e, float *w) {
  const int g = BITS == 4 ? 8 * e / GROUP : 0;
  const float scale = piece.scales[g];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float q = code_of_piece(piece, e, j);
#if MIN_KIND == 0
    w[j] = q * scale;
#else
    w[j] = fma(q, scale, piece.lows[g]);
#endif
  }
}
