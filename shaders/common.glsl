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

// Rounds to f16 (nearest even) and back: how --act f16 stores activations.
float round_f16(float x) { return unpackHalf2x16(packHalf2x16(vec2(x, 0.0))).x; }
