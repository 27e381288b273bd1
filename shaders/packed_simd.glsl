// Decodes packed weights eight rows at a time; the simd shaders of i4 and i8 share it. Other shaders include this file;
// it is never built alone.
//
// Layout (packed/format.h): a panel is 64 rows, and G = 32 / GROUP.
//   SUPER == 0: tile = [half scale[G][64]] [half min[G][64] if explicit] [quants].
//   SUPER == 1: 8 tiles behind a header [half d[64]] [half dmin[64] if explicit]; tile = [int8 sc[G][64]] [uint8
//   m[G][64]] [quants]. SUPER == 2: the same, and scales are eighths of d * sc.
//   All counts are in words of four bytes. `row` is a multiple of 4, so four rows are whole words.
// Constants: GROUP 32|16, SUPER 0|1|2, MIN_KIND 0 none, 1 zero point, 2 explicit; ZERO_POINT. The including file defines
// QUANT_WORDS of one tile.
// A group is GROUP columns that share their scales. The eight rows are two blocks of four, 32 rows apart.
layout(constant_id = 0) const int GROUP = 32;
layout(constant_id = 1) const int SUPER = 0;
layout(constant_id = 2) const int MIN_KIND = 0;
layout(constant_id = 3) const int ZERO_POINT = 0;
layout(constant_id = 4) const int BLOCKS = 4;

#define SCALE_STEP (SUPER == 2 ? 0.125 : 1.0)
#define GROUP_COLUMNS GROUP
#define MIN_GROUP 16
#define MAX_GROUP 32
#define GROUPS (32 / GROUP)
#define SCALE_WORDS (SUPER != 0 ? GROUPS * 16 : GROUPS * 32)
#define HEADER_WORDS (SUPER == 0 ? 0 : MIN_KIND == 2 ? 64 : 32)
#define TILE_WORDS (SCALE_WORDS * (MIN_KIND == 2 ? 2 : 1) + QUANT_WORDS)

struct Group {
  vec4 scale[2];
  vec4 low[2];  // fma adds it; unused with MIN_KIND 0
  uint quants;  // the first word, for all 64 rows
  uint row;
};

vec4 four_halves(uint at) { return vec4(unpackHalf2x16(w[at]), unpackHalf2x16(w[at + 1u])); }
vec4 four_bytes(uint word) { return vec4(uvec4(word, word >> 8, word >> 16, word >> 24) & 255u); }
vec4 four_signed_bytes(uint word) { return vec4(ivec4(uvec4(word << 24, word << 16, word << 8, word)) >> 24); }

// Loads the scales and minima of four rows from `row` on. `header` and `at` are where their super block (if there is
// one) and their tile start.
void load_scales(uint header, uint at, uint part, uint row, out vec4 of_rows, out vec4 added) {
  precise vec4 scale, low = vec4(0.0);
  if (SUPER != 0) {
    const uint entry = at + (part * 64u + row) / 4u;
    scale = four_halves(header + row / 2u) * (four_signed_bytes(w[entry]) * SCALE_STEP);
    if (MIN_KIND == 2) low = -(four_halves(header + 32u + row / 2u) * four_bytes(w[entry + uint(SCALE_WORDS)]));
  } else {
    const uint entry = at + (part * 64u + row) / 2u;
    scale = four_halves(entry);
    if (MIN_KIND == 2) low = four_halves(entry + uint(SCALE_WORDS));
  }
  if (MIN_KIND == 1) low = -(float(ZERO_POINT) * scale);
  of_rows = scale;
  added = low;
}

// Loads a group of rows row .. row + 3 and row + 32 .. row + 35 of the panel that starts at word `panel`.
Group load_group(uint panel, int group, uint row) {
  Group g;
  const uint tile = uint(group / GROUPS), part = uint(group % GROUPS);
  const uint header = SUPER != 0 ? panel + tile / 8u * uint(HEADER_WORDS + 8 * TILE_WORDS) : panel;
  const uint at = SUPER != 0 ? header + uint(HEADER_WORDS) + tile % 8u * uint(TILE_WORDS) : header + tile * uint(TILE_WORDS);
  load_scales(header, at, part, row, g.scale[0], g.low[0]);
  if (BLOCKS == 4) load_scales(header, at, part, row + 32u, g.scale[1], g.low[1]);
  g.quants = at + uint(SCALE_WORDS * (MIN_KIND == 2 ? 2 : 1)) + part * uint(QUANT_WORDS / GROUPS);
  g.row = row;
  return g;
}

vec4 decode(Group g, int b, vec4 q) {
  precise vec4 value;
  if (MIN_KIND == 0) {
    value = q * g.scale[b];
  } else {
    value = fma(q, g.scale[b], g.low[b]);
  }
  return value;
}
