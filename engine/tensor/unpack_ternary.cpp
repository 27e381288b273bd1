#include "engine/tensor/decode.h"
#include "engine/tensor/unpack.h"

// q is one more than the value, and the packed format's zero point is 1.
namespace tandem::blocks {
namespace {

// The nth digit in base 3 of a byte b is the whole part of b 3^n / 256, taken mod 3.
uint8_t digit_of(uint32_t byte, uint32_t power) { return static_cast<uint8_t>((byte * power & 255) * 3 >> 8); }

}  // namespace

void unpack_tq1_0(const uint8_t* block, Unpacked& to) {
  constexpr uint32_t kPowers[] = {1, 3, 9, 27, 81};
  to.scale = read_u16(block + 52);
  for (int k = 0; k < 160; ++k) to.q[k] = digit_of(block[k % 32], kPowers[k / 32]);
  for (int k = 0; k < 80; ++k) to.q[160 + k] = digit_of(block[32 + k % 16], kPowers[k / 16]);
  for (int k = 0; k < 16; ++k) to.q[240 + k] = digit_of(block[48 + k % 4], kPowers[k / 4]);
}

void unpack_tq2_0(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block + 64);
  split_pairs_of_bits(block, to.q);
}

void unpack_q2_0(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  for (int k = 0; k < 64; ++k) to.q[k] = block[2 + k / 4] >> 2 * (k % 4) & 3;
}

void unpack_q1_0(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  for (int k = 0; k < 128; ++k) to.q[k] = static_cast<uint8_t>(2 * (block[2 + k / 8] >> k % 8 & 1));
}

}  // namespace tandem::blocks
