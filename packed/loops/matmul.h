// Matmuls over packed weights: panels of 64 rows times all tokens, in the loops of one instruction set.
//
// Contract
//   Numbers: each output has the order of sums of packed/loops/exact_loops.h, or of packed/act_i8.h. So no bit depends
//   on the number of tokens, panels or threads. Only rows below `row_end` of y are written.
//   Ownership: all memory is the caller's.
//   Threads: panels are independent, so any threads may take any of them, each with its own scratch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packed/loops/loops.h"

namespace tandem {

// Tokens in memory: columns [64 t, 64 t + 64) of token s are at first + s * token_stride + t * tile_stride.
struct TokenLayout {
  const float* first = nullptr;
  int64_t token_stride = 0, tile_stride = kResidentColumns;  // ExactLoops::gemv_panel() needs this tile_stride
};

// Rows of W[N, K] times the tokens. The activations are `codes`, or `x` where there are none.
struct PackedProduct {
  PackedFormat format;
  const std::byte* panels;  // panel 0 of W
  int64_t tokens, columns, row_end;
  float* y;  // row 0 of W; any alignment
  int64_t y_stride;
  TokenLayout x{};
  bool halves = false;              // dense weights are rounded to halves
  const ActBlock* codes = nullptr;  // [tokens][columns / 32]; not with dense weights
};

// Floats of scratch for one thread. Scratch is 64-byte aligned.
int64_t scratch_floats(int64_t tokens);

void multiply_panels(const PackedLoops& loops, const PackedProduct& product, int64_t first_panel, int64_t last_panel,
                     float* scratch);

}  // namespace tandem
