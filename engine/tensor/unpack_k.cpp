#include "engine/tensor/decode.h"
#include "engine/tensor/unpack.h"

namespace tandem::blocks {
namespace {

// 128 bytes of nibbles: value 64 g + l is the low half of byte 32 g + l, and value 64 g + 32 + l its high half.
void split_runs_of_nibbles(const uint8_t* values, uint8_t* q) {
  for (int g = 0; g < 4; ++g) {
    for (int l = 0; l < 32; ++l) q[64 * g + l] = values[32 * g + l] & 15;
    for (int l = 0; l < 32; ++l) q[64 * g + 32 + l] = values[32 * g + l] >> 4;
  }
}

// Halves, scales and minima of Q4_K and Q5_K.
void read_k4_header(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  to.min = read_u16(block + 2);
  for (int j = 0; j < 8; ++j) {
    uint8_t scale;
    k4_scale_min(block + 4, j, scale, to.mins[j]);
    to.scales[j] = static_cast<int8_t>(scale);
  }
}

}  // namespace

// 64 bytes with two bits of each of 256 values: value 128 h + 32 j + l is in bits 2j of byte 32 h + l.
void split_pairs_of_bits(const uint8_t* values, uint8_t* q) {
  for (int h = 0; h < 2; ++h)
    for (int j = 0; j < 4; ++j)
      for (int l = 0; l < 32; ++l) q[128 * h + 32 * j + l] = values[32 * h + l] >> 2 * j & 3;
}

// Each byte of the first 16 has a scale in its low half and a minimum in its high half.
void unpack_q2_k(const uint8_t* block, Unpacked& to) {
  for (int j = 0; j < 16; ++j) {
    to.scales[j] = static_cast<int8_t>(block[j] & 15);
    to.mins[j] = block[j] >> 4;
  }
  split_pairs_of_bits(block + 16, to.q);
  to.scale = read_u16(block + 80);
  to.min = read_u16(block + 82);
}

// q is the low bits plus 4 times the high bit, 0..7. The format's zero point 4 makes it -4..3.
void unpack_q3_k(const uint8_t* block, Unpacked& to) {
  split_pairs_of_bits(block + 32, to.q);
  for (int g = 0; g < 8; ++g)
    for (int l = 0; l < 32; ++l) to.q[32 * g + l] |= static_cast<uint8_t>((block[l] >> g & 1) << 2);
  for (int j = 0; j < 16; ++j) to.scales[j] = static_cast<int8_t>(q3_scale(block + 96, j));
  to.scale = read_u16(block + 108);
}

// q is 0..15, and counts from the minimum of its group of 32 values.
void unpack_q4_k(const uint8_t* block, Unpacked& to) {
  read_k4_header(block, to);
  split_runs_of_nibbles(block + 16, to.q);
}

// The high bit of group g is bit g of byte 16 + l.
void unpack_q5_k(const uint8_t* block, Unpacked& to) {
  read_k4_header(block, to);
  split_runs_of_nibbles(block + 48, to.q);
  for (int g = 0; g < 8; ++g)
    for (int l = 0; l < 32; ++l) to.q[32 * g + l] |= static_cast<uint8_t>((block[16 + l] >> g & 1) << 4);
}

// q becomes signed here (-32..31), because the packed format has no zero point for 8-bit codes.
void unpack_q6_k(const uint8_t* block, Unpacked& to) {
  for (int h = 0; h < 2; ++h)
    for (int j = 0; j < 4; ++j)
      for (int l = 0; l < 32; ++l) {
        const int low = block[64 * h + 32 * (j & 1) + l] >> 4 * (j >> 1) & 15;
        const int high = block[128 + 32 * h + l] >> 2 * j & 3;
        to.q[128 * h + 32 * j + l] = static_cast<uint8_t>((low | high << 4) - 32);
      }
  for (int j = 0; j < 16; ++j) to.scales[j] = static_cast<int8_t>(block[192 + j]);
  to.scale = read_u16(block + 208);
}

// Codes stay indices of the code book.
void unpack_iq4_xs(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  for (int g = 0; g < 8; ++g) {
    to.scales[g] = static_cast<int8_t>(iq4_xs_scale(block, g));
    const uint8_t* values = block + 8 + 16 * g;
    for (int j = 0; j < 16; ++j) to.q[32 * g + j] = values[j] & 15;
    for (int j = 0; j < 16; ++j) to.q[32 * g + 16 + j] = values[j] >> 4;
  }
}

}  // namespace tandem::blocks
