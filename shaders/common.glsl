// Buffers, half conversion, and the rules of the numeric contract. Shaders include this file after `#version 450` and
// `#extension GL_GOOGLE_include_directive : require`.
//
// Bindings and push constants (engine/device/gpu/launch.h): buffer argument i is binding i of set 0. The push constants
// hold one 32-bit word for every argument in order; for a buffer it is the offset in words. Every fma of the numeric
// contract (docs/numbers.md) is written out and `precise`.
#define BUFFER(index, type, name) \
  layout(set = 0, binding = index, std430) buffer name##_block { type name[]; }

// The two halves of a word.
float low_half(uint word) { return unpackHalf2x16(word).x; }
float high_half(uint word) { return unpackHalf2x16(word).y; }

// The half that is nearest to x (ties to even), in the low bits. From 65520 on, halfway from the largest half to the
// next power of two, the result is infinity; SwiftShader's packHalf2x16 makes NaN of large x. A NaN compares false and
// is packed.
uint half_bits(float x) {
  return abs(x) >= 65520.0 ? (floatBitsToUint(x) >> 16u & 0x8000u) | 0x7c00u : packHalf2x16(vec2(x, 0.0));
}

// Rounds to f16 and back, because --act f16 stores activations so.
float round_f16(float x) { return low_half(half_bits(x)); }
