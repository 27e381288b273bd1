#include "npu_emu/memory_model.h"

#include <algorithm>

#include "sync/error.h"

namespace tandem::npu_emu {
namespace {

int64_t rounded_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
int64_t divided_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

}  // namespace

// The streamed extent moves along the array's rows, so it is rounded up to them.
ProductShape whole_tiles(const ArrayShape& array, Dataflow dataflow, const ProductShape& product) {
  const bool input = dataflow == Dataflow::input_stationary;
  return {rounded_up(product.m, input ? array.cols : array.rows), rounded_up(product.k, array.rows),
          rounded_up(product.n, input ? array.rows : array.cols)};
}

// H13. Blocks are whole array columns of the stationary operand, as many as fit on chip and at least one array's width.
// Array and stream overlap, and fills come on top (rule "slow fill").
TiledCost tiled_cost(const ArrayShape& array, double clock_hz, const ChipMemory& memory, Dataflow dataflow,
                     const ProductShape& product, const ElementBytes& bytes) {
  TANDEM_CHECK(dataflow != Dataflow::output_stationary, "a product with a stationary operand");
  const ProductShape whole = whole_tiles(array, dataflow, product);
  const CycleCount count = count_cycles(array, dataflow, whole);
  const int64_t columns = dataflow == Dataflow::input_stationary ? whole.m : whole.n;
  const double column_bytes = static_cast<double>(whole.k) * bytes.stationary;
  // A longer K leaves room for fewer columns, so the other operand streams more often (shape-sensitive).
  const auto fitting = static_cast<int64_t>(static_cast<double>(memory.stationary_bytes) / column_bytes);

  TiledCost cost;
  cost.block_columns = std::clamp(fitting / array.cols * array.cols, array.cols, columns);
  cost.blocks = divided_up(columns, cost.block_columns);
  cost.cycles = divided_up(count.folds, memory.arrays) * count.fold_cycles() - 1;
  cost.fill_bytes = static_cast<double>(columns) * column_bytes;
  cost.stream_bytes = static_cast<double>(cost.blocks) * static_cast<double>(count.stream) *
                      static_cast<double>(whole.k) * bytes.streamed;
  cost.array_seconds = static_cast<double>(cost.cycles) / clock_hz;
  cost.fill_seconds = cost.fill_bytes / memory.fill_bytes_per_second;
  cost.stream_seconds = cost.stream_bytes / memory.stream_bytes_per_second;
  cost.seconds = std::max(cost.array_seconds, cost.stream_seconds) + cost.fill_seconds;
  return cost;
}

}  // namespace tandem::npu_emu
