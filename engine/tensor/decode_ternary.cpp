#include "engine/tensor/decode.h"
#include "packed/half.h"

namespace tandem::blocks {

// A byte of TQ1_0 has five digits of base 3, as a fraction: three times the byte, divided by 256, is the first digit,
// and the rest has the others. 32 bytes have values 0 to 159, 16 bytes the next 80, and four bytes with four digits
// each the last 16. Digit n of a run of bytes belongs to the run's nth stretch of values.
void decode_tq1_0(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block + 52));
  const auto run = [&](int first, int bytes, int digits) {
    for (int i = 0; i < bytes; ++i) {
      auto rest = block[first + i];
      for (int n = 0; n < digits; ++n) {
        out[bytes * n + i] = d * static_cast<float>((rest * 3 >> 8) - 1);
        rest = static_cast<uint8_t>(rest * 3);
      }
    }
    out += bytes * digits;
  };
  run(0, 32, 5);
  run(32, 16, 5);
  run(48, 4, 4);
}

// Two bits for each value: 0 to 3 are -1 to 2.
void decode_tq2_0(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block + 64));
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 4; ++j)
      out[i / 32 * 128 + 32 * j + i % 32] = d * static_cast<float>((block[i] >> 2 * j & 3) - 1);
}

// Four values in each byte, in their order. Codes as those of TQ2_0.
void decode_q2_0(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int k = 0; k < 64; ++k) out[k] = d * static_cast<float>((block[2 + k / 4] >> 2 * (k % 4) & 3) - 1);
}

// A bit for each value: 1 is the scale, 0 its negative.
void decode_q1_0(const uint8_t* block, float* out) {
  const float d = half_to_float(read_u16(block));
  for (int k = 0; k < 128; ++k) out[k] = (block[2 + k / 8] >> k % 8 & 1) != 0 ? d : -d;
}

}  // namespace tandem::blocks
