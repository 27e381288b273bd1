#include "engine/tensor/decode.h"
#include "engine/tensor/types.h"

namespace tandem::blocks {

// Value v of a half of 128 is in bits 2j of byte l, with v = 32 j + l. Q3_K's 2-bit values have the same order.
void decode_q2_k(const uint8_t* block, float* out) {
  const uint8_t *scales = block, *values = block + 16;
  const float d = half_to_float(read_u16(block + 80)), dmin = half_to_float(read_u16(block + 82));
  for (int v = 0; v < 256; ++v) {
    const int half = v / 128, j = v % 128 / 32, l = v % 32;
    const uint8_t scale = scales[v / 16];
    const float dl = d * static_cast<float>(scale & 15), ml = dmin * static_cast<float>(scale >> 4);
    out[v] = dl * static_cast<float>(values[32 * half + l] >> 2 * j & 3) - ml;
  }
}

// An absent high bit subtracts 4.
void decode_q3_k(const uint8_t* block, float* out) {
  const uint8_t *high = block, *values = block + 32, *scales = block + 96;
  const float d = half_to_float(read_u16(block + 108));
  for (int v = 0; v < 256; ++v) {
    const int half = v / 128, j = v % 128 / 32, l = v % 32;
    const int low = values[32 * half + l] >> 2 * j & 3;
    const int q = low - (high[l] >> (4 * half + j) & 1 ? 0 : 4);
    out[v] = d * static_cast<float>(q3_scale(scales, v / 16)) * static_cast<float>(q);
  }
}

// Two groups of 32 values share 32 bytes: the even group has the low halves, the odd group the high halves.
void decode_q4_k(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block)), dmin = half_to_float(read_u16(block + 2));
  const uint8_t* values = block + 16;
  for (int group = 0; group < 8; ++group) {
    uint8_t scale, min;
    k4_scale_min(block + 4, group, scale, min);
    const float d1 = d * static_cast<float>(scale), m1 = dmin * static_cast<float>(min);
    for (int l = 0; l < 32; ++l) {
      const int q = values[32 * (group / 2) + l] >> 4 * (group % 2) & 15;
      out[32 * group + l] = d1 * static_cast<float>(q) - m1;
    }
  }
}

// The high bit of group g is bit g of high byte l.
void decode_q5_k(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block)), dmin = half_to_float(read_u16(block + 2));
  const uint8_t *high = block + 16, *values = block + 48;
  for (int group = 0; group < 8; ++group) {
    uint8_t scale, min;
    k4_scale_min(block + 4, group, scale, min);
    const float d1 = d * static_cast<float>(scale), m1 = dmin * static_cast<float>(min);
    for (int l = 0; l < 32; ++l) {
      const int q = (values[32 * (group / 2) + l] >> 4 * (group % 2) & 15) + (high[l] >> group & 1 ? 16 : 0);
      out[32 * group + l] = d1 * static_cast<float>(q) - m1;
    }
  }
}

// Value v of a half of 128: quarter j = v / 32 uses nibble j / 2 of byte 32 (j % 2) + l, and bits 2j of high byte l.
void decode_q6_k(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block + 208));
  for (int v = 0; v < 256; ++v) {
    const int half = v / 128, j = v % 128 / 32, l = v % 32;
    const int low = block[64 * half + 32 * (j % 2) + l] >> 4 * (j / 2) & 15;
    const int high = block[128 + 32 * half + l] >> 2 * j & 3;
    const auto scale = static_cast<int8_t>(block[192 + v / 16]);
    out[v] = d * static_cast<float>(scale) * static_cast<float>((low | high << 4) - 32);
  }
}

}  // namespace tandem::blocks
