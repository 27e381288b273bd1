// Activations of 8 bits (--act i8): groups of 32 neighbouring values of a row become integers and one f32 scale, by
// rules that are stated to the bit (docs/numbers.md). What is multiplied with packed weights is then exact within a
// group.
//
// Contract: pure functions over the caller's memory. They are the plain definition that every faster path equals.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packed/format.h"

namespace tandem {

inline constexpr int64_t kActGroup = 32;  // columns that share a scale, as many as a tile of weights has

// A group as the processor's loops read it. Byte 8 m + 4 h + i holds column 8 m + 2 i + h: four neighbouring bytes are
// what the low (h = 0) or the high (h = 1) nibbles of four neighbouring bytes of 4-bit codes are multiplied with.
struct ActBlock {
  int8_t codes[kActGroup];  // -127..127
  float scale;              // a value is code * scale; NaN where a value of the group is no finite number
  int32_t sums[2];          // of the codes of columns 0..15, and 16..31
  int32_t unused;           // a multiple of 16 bytes
};
static_assert(sizeof(ActBlock) == 48);
constexpr int64_t act_code_at(int64_t column) { return column / 8 * 8 + column % 2 * 4 + column % 8 / 2; }

// Groups whose largest magnitude is below this count as zeros: the reciprocal of a scale is a normal number.
inline constexpr float kSmallestActMagnitude = 0x1p-100F;

// `columns`, a multiple of 32, values of one row to columns / 32 blocks.
void quantise_act(const float* x, int64_t columns, ActBlock* to);

// Why a row of weights cannot be multiplied with such activations; nullptr: it can. Dense weights have no integers.
const char* misfit_act_i8(const PackedFormat& format);

// The product of row `row` of a panel and the blocks of one token.
float act_i8_product(const PackedFormat& format, const std::byte* panel, int64_t columns, int64_t row,
                     const ActBlock* x);

}  // namespace tandem
