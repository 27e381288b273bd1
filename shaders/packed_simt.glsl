// Decoding packed weights column by column: the part that the simt shaders of i4 and i8 share. Not a shader of its own; included.
//
// Layout (packed/format.h): a panel is 64 rows. SUPER == 0: tile = [half scale[G][64]] [half min[G][64] if explicit] [quants];
//   SUPER == 1: 8 tiles behind a header [half d[64]] [half dmin[64] if explicit], tile = [int8 sc[G][64]] [uint8 m[G][64]] [quants];
//   G = 32 / GROUP. Constants: GROUP 32|16, SUPER 0|1, MIN_KIND 0 none, 1 zero point, 2 explicit, ZERO_POINT; from the including file:
//   QUANT_WORDS of one tile and QUANT(quants, column, r). Everything is counted in words of four bytes. Neighbouring invocations take
//   neighbouring rows: every load is coalesced.
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
float signed_byte_at(uint at, uint index) {
  return float(int(w[at + index / 4u] << (24u - 8u * (index % 4u))) >> 24);
}

// Row r of the panel that starts at word `panel`, columns k .. k+7 (k a multiple of 8, so they share a scale).
void load_columns(uint panel, uint r, uint k, uint K, out float columns[8]) {
  const uint tile = k / 32u, column = k % 32u, entry = column / uint(GROUP) * 64u + r;
  const uint header = panel + tile / TILES * (HEADER_WORDS + TILES * TILE_WORDS);
  const uint at = header + HEADER_WORDS + tile % TILES * TILE_WORDS;
  const uint quants = at + SCALE_WORDS * (MIN_KIND == 2 ? 2u : 1u);
  precise float scale, low = 0.0;
  if (SUPER == 1) {
    scale = half_at(header, r) * signed_byte_at(at, entry);
    if (MIN_KIND == 2) low = -(half_at(header, 64u + r) * byte_at(at + SCALE_WORDS, entry));
  } else {
    scale = half_at(at, entry);
    if (MIN_KIND == 2) low = half_at(at + SCALE_WORDS, entry);
  }
  if (MIN_KIND == 1) low = -(float(ZERO_POINT) * scale);
  for (uint j = 0u; j < 8u; ++j) {
    const float q = QUANT(quants, column + j, r);
    precise float value;
    if (MIN_KIND == 0) {
      value = q * scale;
    } else {
      value = fma(q, scale, low);
    }
    columns[j] = value;
  }
}
