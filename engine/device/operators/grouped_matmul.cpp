#include "engine/device/operators/grouped_matmul.h"

#include <string>

#include "sync/error.h"

namespace tandem {

// A slice keeps the distance between the matrices of the whole stack, because each matrix stays at its place.
GroupedMatMul slice_rows(const GroupedMatMul& op, int64_t begin, int64_t end) {
  const int64_t rows = op.w.rows;
  const bool fits =
      0 <= begin && begin <= end && end <= rows && begin % kPanelRows == 0 && (end % kPanelRows == 0 || end == rows);
  if (!fits)
    throw Error("a row slice does not fit its matrices",
                "rows " + std::to_string(begin) + ".." + std::to_string(end) + " of " + std::to_string(rows),
                "cut at multiples of 64 rows");
  GroupedMatMul slice = op;
  slice.w.pitch_bytes = op.w.matrix_bytes();
  slice.w.rows = end - begin;
  if (op.w.data) slice.w.data = op.w.data.advanced(packed_bytes(op.w.format, begin, op.w.columns));
  if (op.y) slice.y = op.y.advanced(bytes_of_floats(begin));
  return slice;
}

int64_t block_of_columns(const PackedFormat& format) { return format.super_blocks() ? kSuperColumns : kTileColumns; }

GroupedMatMul slice_columns(const GroupedMatMul& op, int64_t begin, int64_t end) {
  const int64_t columns = op.w.columns, block = block_of_columns(op.w.format);
  const bool fits = op.column_count == 0 && 0 <= begin && begin < end && end <= columns && begin % block == 0 &&
                    (end % block == 0 || end == columns);
  if (!fits)
    throw Error("a slice of columns does not fit its matrices",
                "columns " + std::to_string(begin) + ".." + std::to_string(end) + " of " + std::to_string(columns),
                "cut at multiples of " + std::to_string(block) + " columns");
  GroupedMatMul slice = op;
  slice.column_begin = begin, slice.column_count = end - begin;
  if (op.x) slice.x = op.x.advanced(bytes_of_floats(begin));
  return slice;
}

}  // namespace tandem
