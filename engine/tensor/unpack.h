// Splits blocks into the integers and halves that the packed formats store. Internal to engine/tensor.
//
// The values are not decoded. q is the code that PackedFormat stores (unsigned for i4, signed for i8), in column
// order. This code is independent of decode.h, so that the two check each other.
#pragma once

#include <cstdint>

#include "engine/tensor/types.h"

namespace tandem::blocks {

struct Unpacked {
  uint8_t* q = nullptr;         // [block_values]
  uint16_t scale = 0, min = 0;  // halves: of the block (ScaleKind::half) or of the super block
  uint16_t halves[4] = {};      // ScaleKind::half with groups of 16: one per group, in the place of `scale`
  int8_t scales[16] = {};       // with super blocks: one per group
  uint8_t mins[16] = {};
};

using Unpacker = void (*)(const uint8_t* block, Unpacked& to);
Unpacker unpacker(StorageType type);  // nullptr for dense types

// 64 bytes of 2-bit values: value 128 h + 32 j + l is in bits 2j of byte 32 h + l.
void split_pairs_of_bits(const uint8_t* values, uint8_t* q);

void unpack_q2_k(const uint8_t* block, Unpacked& to);
void unpack_q3_k(const uint8_t* block, Unpacked& to);
void unpack_q4_k(const uint8_t* block, Unpacked& to);
void unpack_q5_k(const uint8_t* block, Unpacked& to);
void unpack_q6_k(const uint8_t* block, Unpacked& to);
void unpack_iq4_xs(const uint8_t* block, Unpacked& to);
void unpack_iq3_s(const uint8_t* block, Unpacked& to);
void unpack_iq3_xxs(const uint8_t* block, Unpacked& to);
void unpack_iq2_s(const uint8_t* block, Unpacked& to);
void unpack_iq2_xs(const uint8_t* block, Unpacked& to);
void unpack_iq2_xxs(const uint8_t* block, Unpacked& to);
void unpack_iq1_m(const uint8_t* block, Unpacked& to);
void unpack_iq1_s(const uint8_t* block, Unpacked& to);
void unpack_tq2_0(const uint8_t* block, Unpacked& to);
void unpack_tq1_0(const uint8_t* block, Unpacked& to);
void unpack_q2_0(const uint8_t* block, Unpacked& to);
void unpack_q1_0(const uint8_t* block, Unpacked& to);

}  // namespace tandem::blocks
