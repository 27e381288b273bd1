// The value of a packed weight, by the numeric contract's formula (packed/format.h): the plain definition that every
// faster path equals bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packed/format.h"

namespace tandem {

// What the columns of one group share in one row: a weight is fma(code, scale, minimum), or code * scale.
struct Affine {
  float scale = 0, minimum = 0;
};
Affine affine_of(const PackedFormat& format, const TileView& view, int64_t group, int64_t row);
// The integer of column k (0..31) of a tile, in front of any zero point.
int code_of(const PackedFormat& format, const TileView& view, int64_t k, int64_t row);

// Weight (row, column) of one panel; row counts from the panel's first.
float decode_weight(const PackedFormat& format, const std::byte* panel, int64_t column, int64_t row);

// Elements [row, 0..columns) of a matrix whose panel 0 is at `panels`.
void decode_packed_row(const PackedFormat& format, const std::byte* panels, int64_t columns, int64_t row, float* out);

}  // namespace tandem
