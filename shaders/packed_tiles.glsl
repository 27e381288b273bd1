// Finds the tiles of a packed panel and the scales of a row there. The simt shaders of f32 and all shaders of 8-bit
// activations share it. Other shaders include this file; it is never built alone.
//
// Layout (packed/format.h): a panel is 64 rows, and G = 32 / GROUP.
//   SUPER == 0: tile = [half scale[G][64]] [half min[G][64] if explicit] [quants].
//   SUPER == 1: 8 tiles behind a header [half d[64]] [half dmin[64] if explicit]; tile = [int8 sc[G][64]] [uint8
//   m[G][64]] [quants]. SUPER == 2: the same, and scales are eighths of d * sc.
//   All counts are in words of four bytes. Entry g * 64 + r of a tile's scales belongs to row r and group g.
//   Neighbouring invocations take neighbouring rows, so every load is coalesced.
// Constants: GROUP 32|16, SUPER 0|1|2, MIN_KIND 0 none, 1 zero point, 2 explicit; ZERO_POINT. The including file defines
// QUANT_WORDS of one tile.
layout(constant_id = 0) const int GROUP = 32;
layout(constant_id = 1) const int SUPER = 0;
layout(constant_id = 2) const int MIN_KIND = 0;
layout(constant_id = 3) const int ZERO_POINT = 0;

#define SCALE_STEP (SUPER == 2 ? 0.125 : 1.0)
#define GROUPS uint(32 / GROUP)
#define TILES (SUPER != 0 ? 8u : 1u)  // tiles behind one header
#define SCALE_WORDS (SUPER != 0 ? GROUPS * 16u : GROUPS * 32u)
#define HEADER_WORDS (SUPER == 0 ? 0u : MIN_KIND == 2 ? 64u : 32u)
#define TILE_WORDS (SCALE_WORDS * (MIN_KIND == 2 ? 2u : 1u) + QUANT_WORDS)

// Half, byte and signed byte number `index` from word `at` on.
float half_at(uint at, uint index) { return unpackHalf2x16(w[at + index / 2u] >> (16u * (index % 2u))).x; }
float byte_at(uint at, uint index) { return float((w[at + index / 4u] >> (8u * (index % 4u))) & 255u); }
int signed_byte(uint word, uint index) { return int(word << (24u - 8u * index)) >> 24; }
float signed_byte_at(uint at, uint index) { return float(signed_byte(w[at + index / 4u], index % 4u)); }

struct PackedTile {
  uint header, scales, quants;
};

// Tile number `tile` of the panel that starts at word `panel`.
PackedTile tile_at(uint panel, uint tile) {
  const uint header = panel + tile / TILES * (HEADER_WORDS + TILES * TILE_WORDS);
  const uint scales = header + HEADER_WORDS + tile % TILES * TILE_WORDS;
  return PackedTile(header, scales, scales + SCALE_WORDS * (MIN_KIND == 2 ? 2u : 1u));
}

float scale_of(PackedTile tile, uint entry) {
  if (SUPER != 0) return half_at(tile.header, entry % 64u) * (signed_byte_at(tile.scales, entry) * SCALE_STEP);
  return half_at(tile.scales, entry);
}

// The number that fma adds to a decoded value, or for a group of codes; only with MIN_KIND 2.
float minimum_of(PackedTile tile, uint entry) {
  if (SUPER != 0) return -(half_at(tile.header, 64u + entry % 64u) * byte_at(tile.scales + SCALE_WORDS, entry));
  return half_at(tile.scales + SCALE_WORDS, entry);
}
