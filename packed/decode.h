// The value of a packed weight, by the formula of the numeric contract (packed/format.h). This is the plain definition,
// and every faster path gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packed/format.h"

namespace tandem {

// The numbers that the columns of one group share in one row. A weight is fma(code, scale, minimum), or code * scale.
struct Affine {
  float scale = 0, minimum = 0;
};
Affine affine_of(const PackedFormat& format, const TileView& view, int64_t group, int64_t row);
// The integer of column k (0..31) of a tile: its value in a code book, or its code before a zero point is subtracted.
int code_of(const PackedFormat& format, const TileView& view, int64_t k, int64_t row);

// Weight (row, column) of one panel; row counts from the panel's first.
float decode_weight(const PackedFormat& format, const std::byte* panel, int64_t column, int64_t row);

// Elements [row, 0..columns) of a matrix whose panel 0 is at `panels`.
void decode_packed_row(const PackedFormat& format, const std::byte* panels, int64_t columns, int64_t row, float* out);

}  // namespace tandem
