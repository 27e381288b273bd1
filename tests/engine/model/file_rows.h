// The tensors of a file as numbers.
#pragma once

#include <string>
#include <vector>

#include "engine/model/gguf.h"
#include "engine/tensor/types.h"

namespace tandem::testing {

using Rows = std::vector<std::vector<float>>;

// Rows [begin, begin + count) of a tensor, decoded.
inline Rows file_rows(const GgufFile& file, const std::string& name, int64_t begin, int64_t count) {
  const GgufTensor& tensor = file.require(name);
  const int64_t columns = tensor.shape[0];
  Rows rows;
  for (int64_t row = begin; row < begin + count; ++row) {
    rows.emplace_back(static_cast<size_t>(columns));
    decode_row(tensor.type, tensor.data + static_cast<size_t>(row) * row_bytes(tensor.type, columns),
               rows.back().data(), columns);
  }
  return rows;
}

}  // namespace tandem::testing
