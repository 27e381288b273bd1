// Decodes packed weights column by column; the simt kernels of i4 and i8 share it. Other kernels include this file; it
// is never built alone.
//
// Layout and options: packed_tiles.cl. The including file defines QUANT(quants, column, r).
#include "packed_tiles.cl"

// Row r of the panel, columns k .. k+7 (k a multiple of 8, so they share a scale). The mask tells the
// compiler that one word has all eight codes, or two words have.
INLINE void load_columns(__global const uchar *panel, const int r, const int k, const int K, float *w) {
  const int column = k & 24, entry = column / GROUP * 64 + r;
  const PackedTile tile = tile_at(panel, k / 32);
  const float scale = scale_of(tile, entry);
#if MIN_KIND == 1
  const float low = -((float)ZERO_POINT * scale);
#elif MIN_KIND == 2
  const float low = minimum_of(tile, entry);
#endif
  for (int j = 0; j < 8; ++j) {
    const float q = (float)QUANT(tile.quants, column + j, r);
#if MIN_KIND == 0
    w[j] = q * scale;
#else
    w[j] = fma(q, scale, low);
#endif
  }
}
