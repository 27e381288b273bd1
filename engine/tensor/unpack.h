// Splits blocks into the integers and halves that the packed formats store. Internal to engine/tensor.
//
// The values are not decoded. q is the integer that PackedFormat multiplies by the scale (unsigned for i4, signed for
// i8), in column order. This code is independent of decode.h, so that the two check each other.
#pragma once

#include <cstdint>

#include "engine/tensor/types.h"

namespace tandem::blocks {

struct Unpacked {
  uint8_t* q = nullptr;         // [block_values]
  uint16_t scale = 0, min = 0;  // halves: of the group (ScaleKind::half) or of the super block
  int8_t scales[16] = {};       // ScaleKind::super: one per group
  uint8_t mins[16] = {};
};

using Unpacker = void (*)(const uint8_t* block, Unpacked& to);
Unpacker unpacker(StorageType type);  // nullptr for dense types

void unpack_q2_k(const uint8_t* block, Unpacked& to);
void unpack_q3_k(const uint8_t* block, Unpacked& to);
void unpack_q4_k(const uint8_t* block, Unpacked& to);
void unpack_q5_k(const uint8_t* block, Unpacked& to);
void unpack_q6_k(const uint8_t* block, Unpacked& to);
void unpack_iq4_xs(const uint8_t* block, Unpacked& to);

}  // namespace tandem::blocks
