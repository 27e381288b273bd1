// The array's geometry: R x C cells, three dataflows, and the folding of a matrix product onto the cells.
//
// Contract: plain values and pure functions. A product is Y[M, N] = X[M, K] * W[N, K]^T, with M tokens.
//   dataflow             cells hold           rows are   columns are   streams past
//   weight_stationary    W, one tile a fold   K          N             M tokens.
//   output_stationary    Y, one tile a fold   M          N             K.
//   input_stationary     X, one tile a fold   K          M             N weight rows.
// A fold is one filling of the array. Folds run one after another. The folds of one column range come first, k
// ascending, so that a tile's partial sums enter it from the tile before. At the end of a run of columns (packed/runs.h)
// they go to accumulators outside the array instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem::npu_emu {

struct ArrayShape {
  int64_t rows = 64, cols = 64;
  bool operator==(const ArrayShape&) const = default;
};

enum class Dataflow : uint8_t { weight_stationary, output_stationary, input_stationary };

const char* to_string(Dataflow dataflow);                 // "ws", "os", "is"
std::optional<Dataflow> dataflow(std::string_view name);  // the inverse

struct ProductShape {
  int64_t m = 0, k = 0, n = 0;
  bool operator==(const ProductShape&) const = default;
};

// The extents along the array's rows and columns and of the operand that streams past them, in elements of the product.
struct Mapping {
  int64_t along_rows = 0, along_cols = 0, streamed = 0;
  int64_t row_folds = 0, col_folds = 0;
  int64_t folds() const { return row_folds * col_folds; }
};
Mapping map_product(const ArrayShape& array, Dataflow dataflow, const ProductShape& product);

}  // namespace tandem::npu_emu
