#include "npu_emu/energy_model.h"

#include <algorithm>

namespace tandem::npu_emu {

double sram_traffic_bytes(const ArrayShape& array, Dataflow dataflow, const ProductShape& product,
                          NumberFormat format) {
  const Mapping mapping = map_product(array, dataflow, product);
  const double operand = format == NumberFormat::int8 ? 1 : 2, sum = 4;
  const double rows = static_cast<double>(mapping.along_rows), cols = static_cast<double>(mapping.along_cols);
  const double streamed = static_cast<double>(mapping.streamed);
  const double row_folds = static_cast<double>(mapping.row_folds), col_folds = static_cast<double>(mapping.col_folds);
  if (dataflow == Dataflow::output_stationary) {
    // Both operands stream, each once for every fold across the other's side. A sum leaves once.
    return operand * streamed * (rows * col_folds + cols * row_folds) + sum * rows * cols;
  }
  // The stationary operand enters once, and the streamed one once a column fold. Sums leave at every row fold, and they
  // enter at every row fold except the first.
  return operand * (rows * cols + streamed * rows * col_folds) + sum * streamed * cols * (2 * row_folds - 1);
}

// Array and memory work at the same time, so the slower one decides the time. Energy adds up: products, traffic on
// chip, traffic to memory, and static power. Weights cross the bus once, activations and results as 4-byte floats.
ProductCost product_cost(const NpuParams& params, const ProductShape& product, NumberFormat format,
                         double weight_bytes) {
  const double m = static_cast<double>(product.m), k = static_cast<double>(product.k),
               n = static_cast<double>(product.n);
  ProductCost cost;
  cost.count = count_cycles(params.array, params.dataflow, product);
  cost.dram_bytes = weight_bytes + 4 * m * (k + n);
  cost.sram_bytes = sram_traffic_bytes(params.array, params.dataflow, product, format);
  cost.array_seconds = static_cast<double>(cost.count.cycles) / params.clock_hz;
  cost.memory_seconds = cost.dram_bytes / params.memory_bytes_per_second;
  cost.seconds = std::max(cost.array_seconds, cost.memory_seconds);
  cost.joules = m * k * n * params.energy.mac_joules(format) + cost.sram_bytes * params.energy.sram_byte_joules +
                cost.dram_bytes * params.energy.dram_byte_joules + cost.seconds * params.energy.static_watts;
  return cost;
}

}  // namespace tandem::npu_emu
