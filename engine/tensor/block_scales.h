// Finds the scales in blocks of quantised types, and multiplies whole blocks by a number.
//
// Contract: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/tensor/types.h"

namespace tandem {

// Byte offsets of a block's halves, or of its exponent, from its start. All its other bytes are codes, or integers that
// the halves are multiplied by, and may have any value.
struct BlockScales {
  StorageType type;
  size_t scale;
  std::optional<size_t> minimum = {};
  bool is_exponent = false;  // the scale is a byte, the exponent of a power of two; a half otherwise
};

// The byte of the power of two that is nearest to a factor of the codes of MXFP4.
uint8_t nearest_exponent(float scale);

const BlockScales* block_scales(StorageType type);  // nullptr: values without blocks (F32, F16, BF16)

// Multiplies all values of whole blocks in place: a quantised block's halves, or else each value. The result is exact
// if the factor is a power of two from 1 on. Otherwise each multiplied number is rounded once, to its own format:
// scales of MXFP4 to powers of two. False: a finite number became infinite, so the blocks are useless.
bool multiply_blocks(StorageType type, std::span<std::byte> blocks, float factor);

}  // namespace tandem
