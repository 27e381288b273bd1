// Rearranges packed weights in the device's own memory to pieces of rows (engine/device/gpu/row_pieces.h).
//
// Work mapping: a group of 64 per block of 1,024 bytes (dimension 0) and panel (dimension 1). Invocation r gathers the
//   piece of row r. All of them have read their block before the first one writes.
// Constants: KIND 0 f32, 1 f16, 2 bf16, 3 i4, 4 i8; GROUP, SUPER and MIN_KIND are those of packed_tiles.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 4) const int KIND = 0;
BUFFER(0, uint, w);
layout(push_constant) uniform Args { uint w_offset, panel_bytes; };
#define QUANT_WORDS (KIND == 3 ? 256u : 512u)
#include "packed_tiles.glsl"
#define BLOCK_WORDS 256u

// The block's first word.
uint block_at(uint panel, uint block) {
  if (KIND < 3) return panel + block * BLOCK_WORDS;
  const uint blocks = KIND == 3 ? 1u : 2u;  // of a tile
  return tile_at(panel, block / blocks).quants + block % blocks * BLOCK_WORDS;
}

// Returns the place of byte `at` of row r's piece in the block's panel order.
uint source_of(uint r, uint at) {
  if (KIND == 3) return at * 64u + r % 16u * 4u + r / 16u;
  if (KIND == 4) return (at / 8u * 8u + at % 4u * 2u + at / 4u % 2u) * 64u + r;
  const uint bytes = KIND == 0 ? 4u : 2u;
  return (at / bytes * 64u + r) * bytes + at % bytes;
}

void main() {
  const uint r = gl_LocalInvocationID.x;
  const uint block = block_at(w_offset + gl_WorkGroupID.y * (panel_bytes / 4u), gl_WorkGroupID.x);
  uint piece[4];
  for (uint i = 0u; i < 4u; ++i) {
    piece[i] = 0u;
    for (uint b = 0u; b < 4u; ++b) {
      const uint source = source_of(r, i * 4u + b);
      piece[i] |= (w[block + source / 4u] >> (8u * (source % 4u)) & 255u) << (8u * b);
    }
  }
  memoryBarrierBuffer();
  barrier();
  for (uint i = 0u; i < 4u; ++i) w[block + r * 4u + i] = piece[i];
}
