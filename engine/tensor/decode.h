// The decoders of block types, one file per family. Internal to engine/tensor; callers use decode_row().
//
// Contract: each function decodes one block of the named type by its published formula, in the published order of
// operations. Blocks are little-endian byte strings without alignment.
#pragma once

#include <cstdint>
#include <cstring>

namespace tandem::blocks {

inline uint16_t read_u16(const uint8_t* bytes) { return static_cast<uint16_t>(bytes[0] | bytes[1] << 8); }
inline uint32_t read_u32(const uint8_t* bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
}

// Values of the 4-bit code book of IQ4_NL and IQ4_XS.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// Twice the values of the 4-bit floats (E2M1) of MXFP4, and the exponent of what they are multiplied by. A scale of 255
// is NaN.
inline constexpr int8_t kE2m1Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
inline constexpr uint8_t kE8m0Nan = 255;
constexpr int mxfp4_exponent(uint8_t scale) { return static_cast<int>(scale) - 128; }

// Block layouts, in bytes (half: 2 bytes):
//   Q4_0: half d, 16 nibble pairs.
//   Q4_1: half d, half m, 16 nibble pairs.
//   Q5_0: half d, 32 high bits, 16 nibble pairs.
//   Q5_1: half d, half m, 32 high bits, 16 nibble pairs.
//   Q8_0: half d, 32 int8.
//   IQ4_NL: half d, 16 nibble pairs.
//   MXFP4: a byte e, 16 nibble pairs; values are multiples of 2^(e - 128) (OCP Microscaling Formats 1.0).
// Byte j of the nibble pairs holds value j in its low half and value j + 16 in its high half.
void decode_q4_0(const uint8_t* block, float* out);
void decode_q4_1(const uint8_t* block, float* out);
void decode_q5_0(const uint8_t* block, float* out);
void decode_q5_1(const uint8_t* block, float* out);
void decode_q8_0(const uint8_t* block, float* out);
void decode_iq4_nl(const uint8_t* block, float* out);
void decode_mxfp4(const uint8_t* block, float* out);

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
