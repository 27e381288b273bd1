#include <cmath>
#include <limits>

#include "engine/tensor/decode.h"
#include "engine/tensor/types.h"

namespace tandem::blocks {

// Codes are indices of a code book whose values lie closer together near zero.
void decode_iq4_nl(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>(kIq4Values[block[2 + j] & 15]);
    out[j + 16] = d * static_cast<float>(kIq4Values[block[2 + j] >> 4]);
  }
}

// Codes are floats of 4 bits, whose common scale is a power of two.
void decode_mxfp4(const uint8_t* block, float* out) {
  const float d =
      block[0] == kE8m0Nan ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, mxfp4_exponent(block[0]));
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>(kE2m1Values[block[1 + j] & 15]);
    out[j + 16] = d * static_cast<float>(kE2m1Values[block[1 + j] >> 4]);
  }
}

// A block has four groups of 16 values, each with a scale of eight bits.
void decode_nvfp4(const uint8_t* block, float* out) {
  for (int g = 0; g < 4; ++g) {
    const float d = nvfp4_scale(block[g]);
    const uint8_t* pairs = block + 4 + 8 * g;
    for (int j = 0; j < 8; ++j) {
      out[16 * g + j] = d * static_cast<float>(kE2m1Values[pairs[j] & 15]);
      out[16 * g + 8 + j] = d * static_cast<float>(kE2m1Values[pairs[j] >> 4]);
    }
  }
}

// A super block of eight groups of 32 values. Each group multiplies the half by a signed integer of 6 bits.
void decode_iq4_xs(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int group = 0; group < 8; ++group) {
    const float dl = d * static_cast<float>(iq4_xs_scale(block, group));
    const uint8_t* values = block + 8 + 16 * group;
    for (int j = 0; j < 16; ++j) {
      out[32 * group + j] = dl * static_cast<float>(kIq4Values[values[j] & 15]);
      out[32 * group + j + 16] = dl * static_cast<float>(kIq4Values[values[j] >> 4]);
    }
  }
}

}  // namespace tandem::blocks
