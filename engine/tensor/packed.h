// Packing: which packed format (packed/format.h) a storage type becomes at load, without losing a bit, and how.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/tensor/operand.h"
#include "engine/tensor/types.h"
#include "packed/decode.h"
#include "packed/format.h"

namespace tandem {

PackedFormat packed_format(StorageType type);  // the one format a storage type is packed to

// A packed weight [N, K] lying in a pool slot. A plain value; borrows the slot. slot == nullptr: shape only.
struct PackedMatrix {
  PackedFormat format;
  int64_t rows = 0;     // N
  int64_t columns = 0;  // K
  Operand data;         // panel 0 starts here; 64-byte aligned
  size_t bytes() const { return packed_bytes(format, rows, columns); }
  bool operator==(const PackedMatrix&) const = default;
};

// Packs rows [row_begin, row_begin + row_count) of the destination: source row i (storage type `type`, `columns`
// values) goes to destination row row_begin + i. `panels` is the first byte of panel 0. Rows nobody packs stay as they
// are (zero in a fresh slot). Different row ranges may be packed by different threads when no panel is shared.
void pack_rows(StorageType type, const void* source, int64_t columns, int64_t row_begin, int64_t row_count,
               std::byte* panels);

}  // namespace tandem
