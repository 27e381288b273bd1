// Quantises activations: rows of f32 values become groups of 32 codes with a scale (act_i8.glsl has their layout). One
// shader serves both families.
//
// Layout: x f32, row `slot` of token s at s*x_stride + slot*x_slot. codes: row s*slots + slot has K / 32 groups of
//   12 words.
// Work: dimension 0 is the group of columns, dimension 1 the token, dimension 2 the slot; groups of 64.
// Limits: K is a multiple of 32. The shader rounds a value by adding 1.5 * 2^23 (12582912) and reading the low bits;
//   this is exact below 2^22.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act_i8.glsl"
#include "quotient.glsl"

layout(local_size_x = 64) in;
BUFFER(0, float, x);
BUFFER(1, uint, codes);
layout(push_constant) uniform Args { uint x_offset, codes_offset; int K, slots, x_stride, x_slot; };

void main() {
  const uint group = gl_GlobalInvocationID.x, s = gl_WorkGroupID.y, slot = gl_WorkGroupID.z;
  if (group >= uint(K) / 32u) return;
  const uint from = x_offset + s * uint(x_stride) + slot * uint(x_slot) + group * 32u;
  const uint to = codes_offset + ((s * uint(slots) + slot) * (uint(K) / 32u) + group) * ACT_WORDS;
  int largest = 0;
  for (uint k = 0u; k < 32u; ++k) largest = max(largest, floatBitsToInt(x[from + k]) & 0x7fffffff);
  const float magnitude = intBitsToFloat(largest);
  const bool finite = largest < 0x7f800000, counts = finite && magnitude >= 7.888609052210118e-31;  // 2^-100
  uint scale_bits = finite ? 0u : 0x7fc00000u;
  precise float factor = 0.0;
  if (counts) {
    scale_bits = floatBitsToUint(quotient(magnitude, 127.0));
    factor = quotient(127.0, magnitude);
  }
  int first = 0, second = 0;
  for (uint word = 0u; word < 8u; ++word) {
    uint four = 0u;
    int sum = 0;
    for (uint i = 0u; i < 4u; ++i) {
      precise const float scaled = x[from + word / 2u * 8u + 2u * i + word % 2u] * factor;
      precise const float shifted = scaled + 12582912.0;
      const int code = counts ? floatBitsToInt(shifted) - 0x4b400000 : 0;
      sum += code;
      four |= (uint(code) & 255u) << (8u * i);
    }
    codes[to + word] = four;
    if (word < 4u) first += sum;
    else second += sum;
  }
  codes[to + ACT_SCALE] = scale_bits;
  codes[to + ACT_SUMS] = uint(first);
  codes[to + ACT_SUMS + 1u] = uint(second);
}
