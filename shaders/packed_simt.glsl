// Decodes packed weights column by column; the simt shaders of i4 and i8 share it. Other shaders include this file
// after packed_tiles.glsl, which has the layout; it is never built alone.
//
// The including file defines QUANT(quants, column, r).

// Row r of the panel that starts at word `panel`, columns k .. k+7 (k a multiple of 8, so they share a scale). The mask tells
// the compiler that one word has all eight codes, or two words have.
void load_columns(uint panel, uint r, uint k, uint K, out float columns[8]) {
  const uint column = k & 24u, entry = column / uint(GROUP) * 64u + r;
  const PackedTile tile = tile_at(panel, k / 32u);
  precise float scale = scale_of(tile, entry), low = 0.0;
  if (MIN_KIND == 1) low = -(float(ZERO_POINT) * scale);
  if (MIN_KIND == 2) low = minimum_of(tile, entry);
  for (uint j = 0u; j < 8u; ++j) {
    const float q = QUANT(tile.quants, column + j, r);
    precise float value;
    if (MIN_KIND == 0) {
      value = q * scale;
    } else {
      value = fma(q, scale, low);
    }
    columns[j] = value;
  }
}
