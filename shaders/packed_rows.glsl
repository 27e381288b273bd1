// Decodes packed weights that lie in pieces of rows, piece by piece; the simt shaders of i4 and i8 share it. Other shaders
// include this file after packed_tiles.glsl, matmul_rows.glsl and code_book.glsl; it is never built alone.
//
// Layout: matmul_rows.glsl; scales as in packed_tiles.glsl. BITS is 4 or 8.
#define PIECE_COLUMNS (BITS == 4 ? 32u : 16u)
#define UNITS (BITS == 4 ? 4u : 2u)  // of eight columns, in a piece
#define UNIT 8

struct Piece {
  uvec4 codes;
  float scales[2], lows[2];  // of one or two groups
};

// The piece of row r that begins with column k.
void load_piece(uint panel, uint r, uint k, out Piece next) {
  const PackedTile tile = tile_at(panel, k / 32u);
  next.codes = row_piece(tile.quants + k % 32u / PIECE_COLUMNS * 256u, r);
  [[unroll]] for (uint g = 0u; g < 2u; ++g) {
    if (g > 0u && (BITS == 8 || GROUP == 32)) break;
    const uint entry = (k % 32u / uint(GROUP) + g) * 64u + r;
    precise float scale = scale_of(tile, entry), low = 0.0;
    if (MIN_KIND == 1) low = -(float(ZERO_POINT) * scale);
    if (MIN_KIND == 2) low = minimum_of(tile, entry);
    next.scales[g] = scale;
    next.lows[g] = low;
  }
}

// Columns 8 e to 8 e + 7 of a piece. A code becomes a float in the last bits of 2^23, which is then subtracted: a
// graphics card converts integers at a quarter of the rate at which it adds. Both steps are exact.
void decode(Piece piece, uint e, out float columns[UNIT]) {
  const uint g = BITS == 4 ? 8u * e / uint(GROUP) : 0u;
  const float scale = piece.scales[g], low = piece.lows[g];
  [[unroll]] for (uint j = 0u; j < 8u; ++j) {
    precise float q, value;
    if (BITS == 4 && BOOK != 0) {
      const uint code = numbers_of(piece.codes[e] >> 4u * (j % 2u) & 0x0f0f0f0fu) >> 8u * (j / 2u) & 255u;
      q = uintBitsToFloat(0x4b000000u | (code ^ 128u)) - 8388736.0;  // signed bytes, moved to 0..255
    } else if (BITS == 4) {
      q = uintBitsToFloat(0x4b000000u | (piece.codes[e] >> (4u * j) & 15u)) - 8388608.0;
    } else {
      const uint code = piece.codes[e * 2u + j % 2u] >> (8u * (j / 2u)) & 255u;
      q = uintBitsToFloat(0x4b000000u | (code ^ 128u)) - 8388736.0;
    }
    if (MIN_KIND == 0) {
      value = q * scale;
    } else {
      value = fma(q, scale, low);
    }
    columns[j] = value;
  }
}
