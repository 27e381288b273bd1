// The decoders of block types, one file per family. Internal to engine/tensor; callers use decode_row().
//
// Contract: each function decodes one block of the named type by its published formula, in the published order of
// operations. Blocks are little-endian byte strings without alignment.
#pragma once

#include <cstdint>
#include <cstring>

#include "packed/format.h"  // kIq4Values, kE2m1Values

namespace tandem::blocks {

inline uint16_t read_u16(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] | bytes[1] << 8); }
inline uint32_t read_u32(const uint8_t* bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
}

// The exponent of what twice the 4-bit floats of MXFP4 are multiplied by. A scale of 255 is NaN.
inline constexpr uint8_t kE8m0Nan = 255;
constexpr int mxfp4_exponent(uint8_t scale) { return static_cast<int>(scale) - 128; }

// A scale of NVFP4 as a factor of twice the 4-bit floats: half of a float of 8 bits (E4M3) without a sign. The byte
// that would be NaN is 0. Steps below the smallest normal number, 2^-6, are 2^-9; halved, 2^-10.
constexpr float nvfp4_scale(uint8_t scale) {
  const int exponent = scale >> 3 & 15, mantissa = scale & 7;
  if (scale == 127) return 0;
  const float steps = static_cast<float>(exponent == 0 ? mantissa : (8 + mantissa) << (exponent - 1));
  return steps * 0x1p-10F;
}

// Block layouts, in bytes (half: 2 bytes):
//   Q4_0: half d, 16 nibble pairs.
//   Q4_1: half d, half m, 16 nibble pairs.
//   Q5_0: half d, 32 high bits, 16 nibble pairs.
//   Q5_1: half d, half m, 32 high bits, 16 nibble pairs.
//   Q8_0: half d, 32 int8.
//   IQ4_NL: half d, 16 nibble pairs.
//   MXFP4: a byte e, 16 nibble pairs; values are multiples of 2^(e - 128) (OCP Microscaling Formats 1.0).
//   NVFP4: 4 scales of a byte, each of 16 values; then 4 x 8 nibble pairs, whose byte j holds values j and j + 8.
// Byte j of the nibble pairs holds value j in its low half and value j + 16 in its high half.
void decode_q4_0(const uint8_t* block, float* out);
void decode_q4_1(const uint8_t* block, float* out);
void decode_q5_0(const uint8_t* block, float* out);
void decode_q5_1(const uint8_t* block, float* out);
void decode_q8_0(const uint8_t* block, float* out);
void decode_iq4_nl(const uint8_t* block, float* out);
void decode_mxfp4(const uint8_t* block, float* out);
void decode_nvfp4(const uint8_t* block, float* out);

// Super blocks of 256 values:
//   Q2_K: 16 x (4-bit scale, 4-bit min), 64 bytes of 2-bit values, half d, half dmin.
//   Q3_K: 32 bytes of high bits, 64 bytes of 2-bit values, 16 6-bit scales in 12 bytes, half d.
//   Q4_K: half d, half dmin, 8 x (6-bit scale, 6-bit min) in 12 bytes, 128 nibble pairs.
//   Q5_K: half d, half dmin, 12 bytes as Q4_K, 32 bytes of high bits, 128 nibble pairs.
//   Q6_K: 128 nibble pairs, 64 bytes of 2 high bits each, 16 int8 scales, half d.
//   IQ4_XS: half d, 8 x 2 high bits and 8 x 4 low bits of the scales, 128 nibble pairs.
void decode_q2_k(const uint8_t* block, float* out);
void decode_q3_k(const uint8_t* block, float* out);
void decode_q4_k(const uint8_t* block, float* out);
void decode_q5_k(const uint8_t* block, float* out);
void decode_q6_k(const uint8_t* block, float* out);
void decode_iq4_xs(const uint8_t* block, float* out);

// Super blocks whose codes are points of a lattice (engine/tensor/lattices.h). Digits stand for 8, 25 and 43 in IQ2,
// for 4, 12, 20, 28, 36, 44, 52 and 62 in IQ3_XXS, for 1, 3 .. 15 in IQ3_S, and for -1, 0 and 1 in IQ1. The scale of a
// group is the half times (s + 1/2) / 4 in IQ2, (s + 1/2) / 2 in IQ3_XXS, and 2 s + 1 in IQ3_S and IQ1.
//   IQ2_XXS: half d, 8 x (4 numbers of 8 bits, 4 x 7 signs, 4-bit s).
//   IQ2_XS: half d, 32 x (9-bit number, 7 signs), 16 x 4-bit s.
//   IQ2_S: half d, 32 low bytes of numbers, 32 x 8 signs, 32 x 2 high bits, 16 x 4-bit s.
//   IQ3_XXS: half d, 64 numbers of 8 bits, 8 x (4 x 7 signs, 4-bit s).
//   IQ3_S: half d, 64 low bytes of numbers, 64 high bits, 256 signs, 8 x 4-bit s.
//   IQ1_S: half d, 32 low bytes of numbers, 8 x (4 x 3 high bits, 3-bit s, 1 bit: an eighth down, not up).
//   IQ1_M: 32 low bytes of numbers, 32 x (3 high bits, 1 bit: down), 4 x (4 x 3-bit s, 4 bits of half d).
void decode_iq2_xxs(const uint8_t* block, float* out);
void decode_iq2_xs(const uint8_t* block, float* out);
void decode_iq2_s(const uint8_t* block, float* out);
void decode_iq3_xxs(const uint8_t* block, float* out);
void decode_iq3_s(const uint8_t* block, float* out);
void decode_iq1_s(const uint8_t* block, float* out);
void decode_iq1_m(const uint8_t* block, float* out);

// Super blocks of ternary codes:
//   TQ1_0: 48 bytes with 5 digits and 4 bytes with 4 digits of base 3, half d.
//   TQ2_0: 64 bytes of 2-bit values, half d.
void decode_tq1_0(const uint8_t* block, float* out);
void decode_tq2_0(const uint8_t* block, float* out);

// Blocks of very small codes:
//   Q2_0: half d, 16 bytes with four 2-bit values each.
//   Q1_0: half d, 16 bytes with a bit for each of 128 signs.
void decode_q2_0(const uint8_t* block, float* out);
void decode_q1_0(const uint8_t* block, float* out);

// The half of IQ1_M: its four bits i lie at the top of half word i.
inline uint16_t iq1_m_half(const uint8_t* block) {
  return static_cast<uint16_t>(block[49] >> 4 | (block[51] & 0xf0) | (block[53] & 0xf0) << 4 | (block[55] & 0xf0) << 8);
}

// Scale and minimum of group j (0..7) of Q4_K and Q5_K. The first four groups lie in the low 6 bits of bytes 0..7. The
// others have their low 4 bits in bytes 8..11 and their high 2 bits at the top of the first eight bytes.
inline void k4_scale_min(const uint8_t* packed, int j, uint8_t& scale, uint8_t& min) {
  if (j < 4) {
    scale = packed[j] & 63;
    min = packed[j + 4] & 63;
  } else {
    scale = static_cast<uint8_t>((packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4);
    min = static_cast<uint8_t>((packed[j + 4] >> 4) | (packed[j] >> 6) << 4);
  }
}

// Scale of group j (0..15) of Q3_K, -32..31: low 4 bits in the nibbles of bytes 0..7, high 2 bits in bytes 8..11.
inline int q3_scale(const uint8_t* packed, int j) {
  const int low = j < 8 ? packed[j] & 15 : packed[j - 8] >> 4;
  const int high = packed[8 + j % 4] >> 2 * (j / 4) & 3;
  return (low | high << 4) - 32;
}

// Scale of group j (0..7) of IQ4_XS, -32..31.
inline int iq4_xs_scale(const uint8_t* block, int j) {
  const int low = block[4 + j / 2] >> 4 * (j % 2) & 15;
  const int high = read_u16(block + 2) >> 2 * j & 3;
  return (low | high << 4) - 32;
}

}  // namespace tandem::blocks
