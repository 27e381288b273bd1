// Where the tiles of a packed panel lie and what scales a row has there: what simt shaders of f32 and all shaders of 8-bit activations share. Not a
// shader of its own; included.
//
// Layout (packed/format.h): a panel is 64 rows. SUPER == 0: tile = [half scale[G][64]] [half min[G][64] if explicit] [quants];
//   SUPER == 1: 8 tiles behind a header [half d[64]] [half dmin[64] if explicit], tile = [int8 sc[G][64]] [uint8 m[G][64]] [quants];
//   G = 32 / GROUP. Constants: GROUP 32|16, SUPER 0|1, MIN_KIND 0 none, 1 zero point, 2 explicit, ZERO_POINT; from the including file:
//   QUANT_WORDS of one tile. Everything is counted in words of four bytes. Entry g * 64 + r of a tile's scales is that of row r and group g.
//   Neighbouring invocations take neighbouring rows: every load is coalesced.
layout(constant_id = 0) const int GROUP = 32;
layout(constant_id = 1) const int SUPER = 0;
layout(constant_id = 2) const int MIN_KIND = 0;
layout(constant_id = 3) const int ZERO_POINT = 0;

#define GROUPS uint(32 / GROUP)
#define TILES (SUPER == 1 ? 8u : 1u)  // behind one header
#define SCALE_WORDS (SUPER == 1 ? GROUPS * 16u : GROUPS * 32u)
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

// Of the panel that starts at word `panel`.
PackedTile tile_at(uint panel, uint tile) {
  const uint header = panel + tile / TILES * (HEADER_WORDS + TILES * TILE_WORDS);
  const uint scales = header + HEADER_WORDS + tile % TILES * TILE_WORDS;
  return PackedTile(header, scales, scales + SCALE_WORDS * (MIN_KIND == 2 ? 2u : 1u));
}

float scale_of(PackedTile tile, uint entry) {
  if (SUPER == 1) return half_at(tile.header, entry % 64u) * signed_byte_at(tile.scales, entry);
  return half_at(tile.scales, entry);
}

// What fma adds to a decoded value, or for a group of codes: MIN_KIND 2 alone.
float minimum_of(PackedTile tile, uint entry) {
  if (SUPER == 1) return -(half_at(tile.header, 64u + entry % 64u) * byte_at(tile.scales + SCALE_WORDS, entry));
  return half_at(tile.scales + SCALE_WORDS, entry);
}
