// A product on a chip with several arrays whose on-chip memory is small: where its operands come from, and how long
// that takes (H13: stage, order, shape).
//
// Y = X * W^T is folded onto the arrays as array.h says; one operand is stationary (X for is, W for ws), the other one
// streams past it. Four rules on top of those of cycle_model.h, each by name:
//   whole tiles    every extent is rounded up to the array's sides before anything is counted, so that all extents
//                  below a side cost the same (stage performance).
//   shared folds   `arrays` equal arrays take the folds in turn: the slowest one has ceil(folds / arrays) of them.
//   blocks         of the stationary operand [K, C] only a block of whole array columns fits on chip; the streamed
//                  operand passes once for every block. The longer K, the fewer columns a block has, the more often the
//                  other operand streams (shape-sensitive performance).
//   slow fill      each tile of the stationary operand is filled into the cells once, at `fill_bytes_per_second`, and
//                  nothing hides that: a large stationary operand beside a short stream is slow (order-sensitive).
//
// Contract: pure functions on the model clock; seconds = max(array, stream) + fill. Input- and weight-stationary only.
#pragma once

#include <cstdint>

#include "npu_emu/cycle_model.h"

namespace tandem::npu_emu {

struct ChipMemory {
  int64_t arrays = 1;                   // equal arrays
  int64_t stationary_bytes = 1 << 20;   // on-chip room for the stationary operand
  double fill_bytes_per_second = 1e10;  // of its tiles into the cells, all arrays together
  double stream_bytes_per_second = 4e10;
};

// As the arrays take them, not as memory stores them.
struct ElementBytes {
  double stationary = 2, streamed = 2;
};

struct TiledCost {
  int64_t block_columns = 0;  // columns of the stationary operand that are on chip at once
  int64_t blocks = 0;         // times that the streamed operand passes
  int64_t cycles = 0;         // of the slowest array
  double fill_bytes = 0, stream_bytes = 0;
  double array_seconds = 0, fill_seconds = 0, stream_seconds = 0;
  double seconds = 0;
};

ProductShape whole_tiles(const ArrayShape& array, Dataflow dataflow, const ProductShape& product);
TiledCost tiled_cost(const ArrayShape& array, double clock_hz, const ChipMemory& memory, Dataflow dataflow,
                     const ProductShape& product, const ElementBytes& bytes = {});

}  // namespace tandem::npu_emu
