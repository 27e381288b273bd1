#include "npu_emu/cycle_model.h"

namespace tandem::npu_emu {

// docs/npu.md derives these counts. By the rule "last index" the total is one less than the cycles of all folds.
CycleCount count_cycles(const ArrayShape& array, Dataflow dataflow, const ProductShape& product) {
  const Mapping mapping = map_product(array, dataflow, product);
  const bool stationary_operand = dataflow != Dataflow::output_stationary;
  CycleCount count;
  count.folds = mapping.folds();
  count.load = stationary_operand ? array.rows : 0;
  count.stream = mapping.streamed;
  count.skew = array.rows - 1;
  count.drain = array.cols - 1;
  // Rule "serial folds": every fold pays for load, stream, skew and drain.
  count.cycles = count.folds * count.fold_cycles() - 1;

  const double cells = static_cast<double>(array.rows) * static_cast<double>(array.cols);
  const double macs = static_cast<double>(product.m) * static_cast<double>(product.k) * static_cast<double>(product.n);
  if (count.cycles > 0) count.utilization = macs / (cells * static_cast<double>(count.cycles));
  count.mapping_efficiency = static_cast<double>(mapping.along_rows) * static_cast<double>(mapping.along_cols) /
                             (cells * static_cast<double>(count.folds));
  // With a stationary operand, the reference's window of a fold counts the C - 1 cycles of column skew at both ends.
  const int64_t window = count.fold_cycles() + (stationary_operand ? array.cols - 1 : 0);
  count.compute_utilization =
      count.mapping_efficiency * static_cast<double>(count.stream) / static_cast<double>(window);
  return count;
}

}  // namespace tandem::npu_emu
