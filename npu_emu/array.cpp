#include "npu_emu/array.h"

namespace tandem::npu_emu {

namespace {

// The names of the literature: weight, output and input stationary.
constexpr struct {
  Dataflow dataflow;
  const char* name;
} kNames[] = {
    {Dataflow::weight_stationary, "ws"}, {Dataflow::output_stationary, "os"}, {Dataflow::input_stationary, "is"}};

int64_t ceil_div(int64_t value, int64_t by) { return (value + by - 1) / by; }

}  // namespace

const char* to_string(Dataflow dataflow) {
  for (const auto& row : kNames)
    if (row.dataflow == dataflow) return row.name;
  return "unknown";
}

std::optional<Dataflow> dataflow(std::string_view name) {
  for (const auto& row : kNames)
    if (name == row.name) return row.dataflow;
  return std::nullopt;
}

// Two extents of the product lie along the array's sides, and the third one streams past. An extent that is longer than
// its side of the array takes several folds.
Mapping map_product(const ArrayShape& array, Dataflow dataflow, const ProductShape& product) {
  Mapping mapping;
  switch (dataflow) {
    case Dataflow::weight_stationary:
      mapping = {product.k, product.n, product.m};
      break;
    case Dataflow::output_stationary:
      mapping = {product.m, product.n, product.k};
      break;
    case Dataflow::input_stationary:
      mapping = {product.k, product.m, product.n};
      break;
  }
  mapping.row_folds = ceil_div(mapping.along_rows, array.rows);
  mapping.col_folds = ceil_div(mapping.along_cols, array.cols);
  return mapping;
}

}  // namespace tandem::npu_emu
