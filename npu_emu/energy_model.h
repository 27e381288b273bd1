// Time and energy of one product on the chip, on the model clock: computed from parameters, never measured.
//
// Contract: pure functions. Time is the larger of the array's cycles and the memory's transfer. Weights, inputs and
//   outputs move once each, because loads are double buffered behind the array. Energy adds up multiply-adds, SRAM and
//   DRAM traffic, and static power over that time.
#pragma once

#include <cstdint>

#include "npu_emu/cycle_model.h"
#include "npu_emu/params.h"

namespace tandem::npu_emu {

struct ProductCost {
  CycleCount count;
  double array_seconds = 0, memory_seconds = 0;
  double seconds = 0;
  double dram_bytes = 0, sram_bytes = 0;
  double joules = 0;
};

// weight_bytes: bytes of the packed weights that are read; activations move as f32, 4 bytes each.
ProductCost product_cost(const NpuParams& params, const ProductShape& product, NumberFormat format,
                         double weight_bytes);

// Traffic between the array and its SRAM. For ws, inputs move once a column fold (2 bytes) and weights once (2 bytes);
// partial sums are written and read back between row folds (4 bytes). The other dataflows follow the same rules.
double sram_traffic_bytes(const ArrayShape& array, Dataflow dataflow, const ProductShape& product, NumberFormat format);

}  // namespace tandem::npu_emu
