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

// How a block stores its scale: as a half; as the exponent of a power of two, a byte (MXFP4); as four floats of a byte,
// each for a quarter of the block (NVFP4); as a half whose nibbles are at the top of four half words (IQ1_M).
enum class ScaleForm : uint8_t { half, exponent, four_bytes, nibbles };

// Byte offsets of a block's scale, and of its minimum, a half, from its start. All its other bytes are codes, or
// integers that the scale is multiplied by, and may have any value.
struct BlockScales {
  StorageType type;
  size_t scale;
  std::optional<size_t> minimum = {};
  ScaleForm form = ScaleForm::half;
};

// Stores a scale in one block, rounded to what its form holds. Signs stay in the codes where a form has none.
void set_scale(const BlockScales& scales, std::byte* block, float scale);

const BlockScales* block_scales(StorageType type);  // nullptr: values without blocks (F32, F16, BF16)

// Multiplies all values of whole blocks in place: a quantised block's scales, or else each value. The result is exact
// if the factor is a power of two from 1 on. Otherwise each multiplied number is rounded once, to its own format:
// scales of MXFP4 to powers of two, those of NVFP4 to four bits. False: a finite number became infinite, so the blocks
// are useless.
bool multiply_blocks(StorageType type, std::span<std::byte> blocks, float factor);

}  // namespace tandem
