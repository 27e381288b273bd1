// Activations of 8 bits (--act i8): each group of 32 neighbouring values of a row becomes 32 integers and one
// f32 scale.
// The rules are exact to the bit (docs/numbers.md), so products with packed weights are exact within a group.
//
// Contract: pure functions over the caller's memory. They are the plain definition, and every faster path gives the
//   same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packed/format.h"

namespace tandem {

inline constexpr int64_t kActGroup = 32;  // columns that share a scale; a tile of weights has as many

// A group in the order in which the processor's loops read it. Byte 8 m + 4 h + i holds column 8 m + 2 i + h. Four
// neighbouring bytes multiply the low (h = 0) or the high (h = 1) nibbles of four neighbouring bytes of 4-bit codes.
struct ActBlock {
  int8_t codes[kActGroup];  // -127..127
  float scale;              // a value is code * scale; NaN if any value of the group is infinite or NaN
  int32_t sums[2];          // sums of the codes of columns 0..15, and 16..31
  int32_t unused;           // pads the block to a multiple of 16 bytes
};
static_assert(sizeof(ActBlock) == 48);
constexpr int64_t act_code_at(int64_t column) { return column / 8 * 8 + column % 2 * 4 + column % 8 / 2; }

// A group whose largest magnitude is below this counts as zeros, so that the reciprocal of a scale is a normal number.
inline constexpr float kSmallestActMagnitude = 0x1p-100F;

// Quantises `columns` values of one row, a multiple of 32, to columns / 32 blocks.
void quantise_act(const float* x, int64_t columns, ActBlock* to);

// The reason why a row of weights cannot multiply such activations; nullptr if it can. Dense weights have no integers.
const char* misfit_act_i8(const PackedFormat& format);

// The product of row `row` of a panel and the blocks of one token.
float act_i8_product(const PackedFormat& format, const std::byte* panel, int64_t columns, int64_t row,
                     const ActBlock* x);

}  // namespace tandem
