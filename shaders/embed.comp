// The embedding lookup, y[s, :] = scale * decoded w[ids[s], :]. One shader serves both families and every
// packed format.
//
// Layout: w as in packed/format.h; y f32 [S, H] dense; ids int32 [S].
// Constants: KIND is 0 f32, 1 f16, 2 bf16, 3 i4, 4 i8. GROUP, SUPER, MIN_KIND and ZERO_POINT are those
// of packed_tiles.glsl.
// Work mapping: invocation i of group (g, s) decodes column 64 g + i of token s. Only OpenCL work-items use `columns`.
// Limits: w holds rows row_begin .. row_end of a table of `vocabulary` rows. Other launches write the tokens whose id
//   lies outside these rows. An id outside the vocabulary gives a row of NaN and reads nothing; the launch that holds
//   row 0 writes it.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const int GROUP = 32;
layout(constant_id = 1) const int SUPER = 0;
layout(constant_id = 2) const int MIN_KIND = 0;
layout(constant_id = 3) const int ZERO_POINT = 0;
layout(constant_id = 4) const int KIND = 0;
#include "row_place.glsl"
#include "code_book.glsl"

BUFFER(0, uint, w);
BUFFER(1, int, ids);
BUFFER(2, float, y);
layout(push_constant) uniform Args {
  uint w_offset, ids_offset, y_offset;
  uint panel_bytes;
  int vocabulary, row_begin, row_end, H, columns;
  float y_scale;
};

#define GROUPS uint(32 / GROUP)
#define TILES (SUPER != 0 ? 8u : 1u)  // tiles behind one header
#define SCALE_WORDS (SUPER != 0 ? GROUPS * 16u : GROUPS * 32u)
#define HEADER_WORDS (SUPER == 0 ? 0u : MIN_KIND == 2 ? 64u : 32u)
#define TILE_WORDS (SCALE_WORDS * (MIN_KIND == 2 ? 2u : 1u) + (KIND == 3 ? 256u : 512u))

// Half, byte and signed byte number `index` from word `at` on.
uint half_bits_at(uint at, uint index) { return w[at + index / 2u] >> (16u * (index % 2u)); }
float half_at(uint at, uint index) { return unpackHalf2x16(half_bits_at(at, index)).x; }
uint byte_at(uint at, uint index) { return (w[at + index / 4u] >> (8u * (index % 4u))) & 255u; }
float signed_byte_at(uint at, uint index) { return float(int(byte_at(at, index) << 24) >> 24); }

float packed_element(uint panel, uint r, uint k) {
  const uint tile = k / 32u, column = k % 32u, entry = column / uint(GROUP) * 64u + r;
  const uint header = panel + tile / TILES * (HEADER_WORDS + TILES * TILE_WORDS);
  const uint at = header + HEADER_WORDS + tile % TILES * TILE_WORDS;
  const uint quants = at + SCALE_WORDS * (MIN_KIND == 2 ? 2u : 1u);
  float q;
  if (KIND == 3) {
    q = float(number_of(byte_at(quants, nibble_byte(column, r)) >> (4u * (column % 2u)) & 15u));
  } else {
    q = signed_byte_at(quants, code_byte(column, r));
  }
  precise float scale, low = 0.0, value;
  if (SUPER != 0) {
    scale = half_at(header, r) * (signed_byte_at(at, entry) * (SUPER == 2 ? 0.125 : 1.0));
    if (MIN_KIND == 2) low = -(half_at(header, 64u + r) * float(byte_at(at + SCALE_WORDS, entry)));
  } else {
    scale = half_at(at, entry);
    if (MIN_KIND == 2) low = half_at(at + SCALE_WORDS, entry);
  }
  if (MIN_KIND == 1) low = -(float(ZERO_POINT) * scale);
  if (MIN_KIND == 0) {
    value = q * scale;
  } else {
    value = fma(q, scale, low);
  }
  return value;
}

float element(uint panel, uint r, uint k) {
  const uint index = element_index(k, r, KIND == 0 ? 4u : 8u);
  if (KIND == 0) return uintBitsToFloat(w[panel + index]);
  if (KIND == 1) return half_at(panel, index);
  if (KIND == 2) return uintBitsToFloat(half_bits_at(panel, index) << 16);
  return packed_element(panel, r, k);
}

void main() {
  const uint s = gl_WorkGroupID.y, k = gl_GlobalInvocationID.x;
  if (k >= uint(H)) return;
  const int id = ids[ids_offset + s];
  const uint at = y_offset + s * uint(H) + k;
  if (id >= row_begin && id < row_end) {
    const uint row = uint(id - row_begin);
    precise const float value = element(w_offset + row / 64u * (panel_bytes / 4u), row % 64u, k) * y_scale;
    y[at] = value;
  } else if (row_begin == 0 && (id < 0 || id >= vocabulary)) {
    y[at] = uintBitsToFloat(0x7fc00000u);
  }
}
