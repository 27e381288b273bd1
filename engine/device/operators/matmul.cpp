#include "engine/device/operators/matmul.h"

#include <string>

#include "sync/error.h"

namespace tandem {

// A panel of 64 rows is never cut, so only the operator's own end may lie inside one.
MatMul slice_rows(const MatMul& op, int64_t begin, int64_t end) {
  const bool fits = op.row_begin <= begin && begin <= end && end <= op.row_end && begin % kPanelRows == 0 &&
                    (end % kPanelRows == 0 || end == op.row_end);
  if (!fits)
    throw Error("a row slice does not fit its matmul",
                "rows " + std::to_string(begin) + ".." + std::to_string(end) + " of " + std::to_string(op.row_begin) +
                    ".." + std::to_string(op.row_end),
                "cut at multiples of 64 rows");
  MatMul slice = op;
  slice.row_begin = begin;
  slice.row_end = end;
  return slice;
}

}  // namespace tandem
