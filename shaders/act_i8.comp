// Quantises activations: rows of f32 values become groups of 32 codes with a scale (act_i8.glsl has their layout). One
// shader serves both families.
//
// Layout: x f32, row `slot` of token s at s*x_stride + slot*x_slot. codes: row s*slots + slot has K / 32 groups of
//   12 words.
// Work: dimension 0 is the group of columns, dimension 1 the token, dimension 2 the slot; groups of 64.
// Limits: K is a multiple of 32.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act_i8.glsl"
#include "quotient.glsl"

layout(local_size_x = 64) in;
BUFFER(0, float, x);
BUFFER(1, uint, codes);
layout(push_constant) uniform Args { uint x_offset, codes_offset; int K, slots, x_stride, x_slot; };
#define CODED(at) x[at]
#include "make_codes.glsl"

void main() {
  const uint group = gl_GlobalInvocationID.x, s = gl_WorkGroupID.y, slot = gl_WorkGroupID.z;
  if (group >= uint(K) / 32u) return;
  const uint from = x_offset + s * uint(x_stride) + slot * uint(x_slot) + group * 32u;
  const uint to = codes_offset + ((s * uint(slots) + slot) * (uint(K) / 32u) + group) * ACT_WORDS;
  make_codes(from, to);
}
