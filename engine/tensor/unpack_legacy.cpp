#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "engine/tensor/decode.h"
#include "engine/tensor/unpack.h"
#include "packed/half.h"
#include "sync/error.h"

namespace tandem::blocks {
namespace {

// Byte j has value j in its low half and value j + 16 in its high half.
void split_nibbles(const uint8_t* pairs, uint8_t* q) {
  for (int j = 0; j < 16; ++j) q[j] = pairs[j] & 15;
  for (int j = 0; j < 16; ++j) q[j + 16] = pairs[j] >> 4;
}

// Bit j of `high` is bit 4 of value j.
void add_high_bits(uint32_t high, uint8_t* q) {
  for (int j = 0; j < 32; ++j) q[j] |= static_cast<uint8_t>((high >> j & 1) << 4);
}

// q stays 0..15, because the packed format subtracts the zero point 8.
void unpack_q4_0(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  split_nibbles(block + 2, to.q);
}

// The minimum is a half of its own, so codes count from 0.
void unpack_q4_1(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  to.min = read_u16(block + 2);
  split_nibbles(block + 4, to.q);
}

// q becomes signed here (-16..15), because the packed format has no zero point for 8-bit codes.
void unpack_q5_0(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  split_nibbles(block + 6, to.q);
  add_high_bits(read_u32(block + 2), to.q);
  for (int j = 0; j < 32; ++j) to.q[j] = static_cast<uint8_t>(to.q[j] - 16);
}

// q is 0..31 and counts from the minimum, so it fits a signed byte as it is.
void unpack_q5_1(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  to.min = read_u16(block + 2);
  split_nibbles(block + 8, to.q);
  add_high_bits(read_u32(block + 4), to.q);
}

// Codes are signed bytes already.
void unpack_q8_0(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  std::memcpy(to.q, block + 2, 32);
}

// Codes stay indices of the packed format's code book.
void unpack_iq4_nl(const uint8_t* block, Unpacked& to) {
  to.scale = read_u16(block);
  split_nibbles(block + 2, to.q);
}

// The scale is a power of two that is a half, 2^-24 to 2^15. A block of zeros needs no scale.
void unpack_mxfp4(const uint8_t* block, Unpacked& to) {
  constexpr int kLeast = -24, kLargest = 15;
  split_nibbles(block + 1, to.q);
  to.scale = 0;
  if (std::all_of(to.q, to.q + 32, [](uint8_t code) { return kE2m1Values[code] == 0; }) && block[0] != kE8m0Nan) return;
  const int exponent = mxfp4_exponent(block[0]);
  if (block[0] == kE8m0Nan || exponent < kLeast || exponent > kLargest)
    throw Error("a block of MXFP4 has a scale that weights of a model do not have",
                block[0] == kE8m0Nan ? "not a number" : "2^" + std::to_string(exponent),
                "the file is damaged, or its weights need another storage type: F16 or BF16");
  to.scale = float_to_half(std::ldexp(1.0f, exponent));
}

// A scale of four bits of mantissa and four of exponent is a half, and so is half of it.
void unpack_nvfp4(const uint8_t* block, Unpacked& to) {
  for (int g = 0; g < 4; ++g) {
    to.halves[g] = float_to_half(nvfp4_scale(block[g]));
    for (int j = 0; j < 8; ++j) {
      const uint8_t pair = block[4 + 8 * g + j];
      to.q[16 * g + j] = pair & 15;
      to.q[16 * g + 8 + j] = pair >> 4;
    }
  }
}

}  // namespace

// nullptr: the type has no blocks.
Unpacker unpacker(StorageType type) {
  switch (type) {
    case StorageType::q4_0:
      return unpack_q4_0;
    case StorageType::q4_1:
      return unpack_q4_1;
    case StorageType::q5_0:
      return unpack_q5_0;
    case StorageType::q5_1:
      return unpack_q5_1;
    case StorageType::q8_0:
      return unpack_q8_0;
    case StorageType::iq4_nl:
      return unpack_iq4_nl;
    case StorageType::mxfp4:
      return unpack_mxfp4;
    case StorageType::q2_k:
      return unpack_q2_k;
    case StorageType::q3_k:
      return unpack_q3_k;
    case StorageType::q4_k:
      return unpack_q4_k;
    case StorageType::q5_k:
      return unpack_q5_k;
    case StorageType::q6_k:
      return unpack_q6_k;
    case StorageType::iq4_xs:
      return unpack_iq4_xs;
    case StorageType::nvfp4:
      return unpack_nvfp4;
    case StorageType::iq3_s:
      return unpack_iq3_s;
    case StorageType::iq3_xxs:
      return unpack_iq3_xxs;
    case StorageType::iq2_s:
      return unpack_iq2_s;
    case StorageType::iq2_xs:
      return unpack_iq2_xs;
    case StorageType::iq2_xxs:
      return unpack_iq2_xxs;
    case StorageType::iq1_m:
      return unpack_iq1_m;
    case StorageType::iq1_s:
      return unpack_iq1_s;
    case StorageType::tq2_0:
      return unpack_tq2_0;
    case StorageType::tq1_0:
      return unpack_tq1_0;
    case StorageType::q2_0:
      return unpack_q2_0;
    case StorageType::q1_0:
      return unpack_q1_0;
    case StorageType::f32:
    case StorageType::f16:
    case StorageType::bf16:
      break;
  }
  return nullptr;
}

}  // namespace tandem::blocks
