// Packing at load: the packed format (packed/format.h) of each storage type, and the conversion, which loses no bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/tensor/operand.h"
#include "engine/tensor/types.h"
#include "packed/decode.h"
#include "packed/format.h"

namespace tandem {

PackedFormat packed_format(StorageType type);  // the one format that the type is packed to

// A packed weight [N, K] in a pool slot. A plain value; borrows the slot. slot == nullptr: shape only.
struct PackedMatrix {
  PackedFormat format;
  int64_t rows = 0;     // N
  int64_t columns = 0;  // K
  Operand data;         // panel 0 starts here; 64-byte aligned
  size_t bytes() const { return packed_bytes(format, rows, columns); }
  bool operator==(const PackedMatrix&) const = default;
};

// `count` packed weights [N, K] of one shape, at equal distances: the experts of a layer, or the heads of a projection.
// matrix(i) is a view, so an expert is a weight like any other. A stack may consist of some panels of each matrix of a
// larger one. An expert's matrices may lie behind each other, so that its stacks interleave.
struct PackedStack {
  PackedFormat format;
  int64_t count = 0;
  int64_t rows = 0, columns = 0;  // N and K of each
  Operand data;                   // panel 0 of matrix 0; 64-byte aligned
  size_t pitch_bytes = 0;         // distance from one matrix to the next; 0: they lie side by side
  size_t matrix_bytes() const { return pitch_bytes > 0 ? pitch_bytes : packed_bytes(format, rows, columns); }
  // From the first matrix to the end of the last.
  size_t bytes() const {
    return count == 0 ? 0 : static_cast<size_t>(count - 1) * matrix_bytes() + packed_bytes(format, rows, columns);
  }
  PackedMatrix matrix(int64_t i) const {
    return {format, rows, columns, data ? data.advanced(static_cast<size_t>(i) * matrix_bytes()) : data};
  }
  bool operator==(const PackedStack&) const = default;
};

// Packs rows [row_begin, row_begin + row_count) of the destination. Source row i (storage type `type`, `columns`
// values) becomes destination row row_begin + i. `panels` is the first byte of panel 0. Other rows stay as they are
// (zero in a fresh slot). Several threads may pack different row ranges if they share no panel.
void pack_rows(StorageType type, const void* source, int64_t columns, int64_t row_begin, int64_t row_count,
               std::byte* panels);

}  // namespace tandem
