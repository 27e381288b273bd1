// Decodes packed weights that lie in pieces of rows, step by step; the simt shaders of i4 and i8 share it. Other shaders
// include this file after packed_tiles.glsl and matmul_rows.glsl; it is never built alone.
//
// Layout: matmul_rows.glsl; scales as in packed_tiles.glsl. BITS is 4 or 8.
#define STEP_COLUMNS (BITS == 4 ? 64u : 32u)  // 32 bytes of codes
#define SCALES 4                             // the most of a step

struct Step {
  uvec4 codes[2];
  float scales[SCALES], lows[SCALES];
};

// Columns k to k + STEP_COLUMNS - 1 of row r of the panel. The second tile of 4-bit codes may lie behind the last column.
void load_step(uint panel, uint r, uint k, uint K, out Step next) {
  [[unroll]] for (uint t = 0u; t < 2u; ++t) {
    if (t > 0u && (BITS == 8 || k + 32u >= K)) break;
    const PackedTile tile = tile_at(panel, k / 32u + t);
    next.codes[t] = row_piece(tile.quants, r);
    if (BITS == 8) next.codes[1] = row_piece(tile.quants + 256u, r);
    // trips <= 2   groups of a tile
    [[unroll]] for (uint g = 0u; g < GROUPS; ++g) {
      const uint entry = g * 64u + r, at = t * GROUPS + g;
      precise float scale = scale_of(tile, entry), low = 0.0;
      if (MIN_KIND == 1) low = -(float(ZERO_POINT) * scale);
      if (MIN_KIND == 2) low = minimum_of(tile, entry);
      next.scales[at] = scale;
      next.lows[at] = low;
    }
  }
}

// Columns 8 e to 8 e + 7 of a step. A code becomes a float in the last bits of 2^23, which is then subtracted: a graphics
// card converts integers at a quarter of the rate at which it adds. Both steps are exact.
void decode(Step step_of, uint e, out float columns[8]) {
  const float scale = step_of.scales[8u * e / uint(GROUP)], low = step_of.lows[8u * e / uint(GROUP)];
  [[unroll]] for (uint j = 0u; j < 8u; ++j) {
    precise float q, value;
    if (BITS == 4) {
      q = uintBitsToFloat(0x4b000000u | (step_of.codes[e / 4u][e % 4u] >> (4u * j) & 15u)) - 8388608.0;
    } else {
      const uint code = step_of.codes[e / 2u][e % 2u * 2u + j % 2u] >> (8u * (j / 2u)) & 255u;
      q = uintBitsToFloat(0x4b000000u | (code ^ 128u)) - 8388736.0;  // signed bytes, moved to 0..255
    }
    if (MIN_KIND == 0) {
      value = q * scale;
    } else {
      value = fma(q, scale, low);
    }
    columns[j] = value;
  }
}
