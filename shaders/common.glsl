// Included by every shader (after `#version 450` and `#extension GL_GOOGLE_include_directive : require`): buffers, half conversion, and the
// contract's rules.
//
// Bindings and push constants (engine/device/gpu/launch.h): buffer argument i is binding i of set 0; the push constants hold one 32-bit word for
// every argument in order, for a buffer its offset in words. Every fma of the numeric contract (docs/numbers.md) is written out and `precise`.
#define BUFFER(index, type, name) \
  layout(set = 0, binding = index, std430) buffer name##_block { type name[]; }

// The two halves of a word.
float low_half(uint word) { return unpackHalf2x16(word).x; }
float high_half(uint word) { return unpackHalf2x16(word).y; }

// The half that is nearest to x (of two the even one), in the low bits. From 65520 on, the middle between the largest half and the next power of
// two, that is infinity, of which SwiftShader's packHalf2x16 makes NaN where x is large; a NaN compares false and is packed.
uint half_bits(float x) {
  return abs(x) >= 65520.0 ? (floatBitsToUint(x) >> 16u & 0x8000u) | 0x7c00u : packHalf2x16(vec2(x, 0.0));
}

// Rounds to f16 and back: how --act f16 stores activations.
float round_f16(float x) { return low_half(half_bits(x)); }
