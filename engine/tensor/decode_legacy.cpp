#include "engine/tensor/decode.h"
#include "engine/tensor/types.h"

namespace tandem::blocks {

// Codes 0..15 stand for -8..7.
void decode_q4_0(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>((block[2 + j] & 15) - 8) * d;
    out[j + 16] = static_cast<float>((block[2 + j] >> 4) - 8) * d;
  }
}

// Codes count from the block's minimum m.
void decode_q4_1(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block)), m = half_to_float(read_u16(block + 2));
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(block[4 + j] & 15) * d + m;
    out[j + 16] = static_cast<float>(block[4 + j] >> 4) * d + m;
  }
}

// Codes 0..31 stand for -16..15. The fifth bits of all values are in one word, as in Q5_1.
void decode_q5_0(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  const uint32_t high = read_u32(block + 2);
  for (int j = 0; j < 16; ++j) {
    const int low_value = (block[6 + j] & 15) | static_cast<int>(high >> j & 1) << 4;
    const int high_value = (block[6 + j] >> 4) | static_cast<int>(high >> (j + 16) & 1) << 4;
    out[j] = static_cast<float>(low_value - 16) * d;
    out[j + 16] = static_cast<float>(high_value - 16) * d;
  }
}

// The high bits of values j and j + 16 are bits j and j + 16 of one word.
void decode_q5_1(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block)), m = half_to_float(read_u16(block + 2));
  const uint32_t high = read_u32(block + 4);
  for (int j = 0; j < 16; ++j) {
    const int low_value = (block[8 + j] & 15) | static_cast<int>(high >> j & 1) << 4;
    const int high_value = (block[8 + j] >> 4) | static_cast<int>(high >> (j + 16) & 1) << 4;
    out[j] = static_cast<float>(low_value) * d + m;
    out[j + 16] = static_cast<float>(high_value) * d + m;
  }
}

void decode_q8_0(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(static_cast<int8_t>(block[2 + j])) * d;
}

}  // namespace tandem::blocks
