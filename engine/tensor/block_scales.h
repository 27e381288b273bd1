// Where the blocks of a quantised type keep their scales, and products of whole blocks with a number.
//
// Contract: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "engine/tensor/types.h"

namespace tandem {

// Bytes from a block's start at which its halves lie. All its other bytes are codes, or integers that the halves are
// multiplied with, and may have any value.
struct BlockScales {
  StorageType type;
  size_t scale;
  std::optional<size_t> minimum = {};
};

const BlockScales* block_scales(StorageType type);  // nullptr: each value stands by itself (F32, F16, BF16)

// Multiplies all values of whole blocks in their place: a quantised block's halves, or else each value. That is exact
// where the factor is a power of two from 1 on; else what is multiplied is rounded once, to its own format. False: a
// number that was finite would be so no longer, and the blocks are of no use.
bool multiply_blocks(StorageType type, std::span<std::byte> blocks, float factor);

}  // namespace tandem
