// A product on a chip with several arrays and a small on-chip memory: where its operands come from, and how long that
// takes (H13: stage, order, shape).
//
// Y = X * W^T is folded onto the arrays as in array.h. One operand is stationary (X for is, W for ws), and the other
// one streams past it. Four rules are added to those of cycle_model.h:
//   whole tiles    every extent is rounded up to the array's sides before anything is counted. So all extents below a
//                  side cost the same (stage performance).
//   shared folds   `arrays` equal arrays take the folds in turn: the slowest one has ceil(folds / arrays) of them.
//   blocks         only a block of whole array columns of the stationary operand [K, C] fits on chip. The streamed
//                  operand passes once for every block. A longer K leaves fewer columns in a block, so the other
//                  operand streams more often (shape-sensitive performance).
//   slow fill      each tile of the stationary operand is filled into the cells once, at `fill_bytes_per_second`, and
//                  no other work hides that. A large stationary operand beside a short stream is slow
//                  (order-sensitive).
//
// Contract: pure functions on the model clock; seconds = max(array, stream) + fill. Input- and weight-stationary only.
#pragma once

#include <cstdint>

#include "npu_emu/cycle_model.h"

namespace tandem::npu_emu {

struct ChipMemory {
  int64_t arrays = 1;                   // equal arrays
  int64_t stationary_bytes = 1 << 20;   // on-chip room for the stationary operand
  double fill_bytes_per_second = 1e10;  // rate of filling tiles into the cells, all arrays together
  double stream_bytes_per_second = 4e10;
};

// Bytes of an element in the arrays, not in memory.
struct ElementBytes {
  double stationary = 2, streamed = 2;
};

struct TiledCost {
  int64_t block_columns = 0;  // columns of the stationary operand that are on chip at once
  int64_t blocks = 0;         // times that the streamed operand passes
  int64_t cycles = 0;         // cycles of the slowest array
  double fill_bytes = 0, stream_bytes = 0;
  double array_seconds = 0, fill_seconds = 0, stream_seconds = 0;
  double seconds = 0;
};

ProductShape whole_tiles(const ArrayShape& array, Dataflow dataflow, const ProductShape& product);
TiledCost tiled_cost(const ArrayShape& array, double clock_hz, const ChipMemory& memory, Dataflow dataflow,
                     const ProductShape& product, const ElementBytes& bytes = {});

}  // namespace tandem::npu_emu
