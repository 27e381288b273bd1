// The operator TopK: the largest values of each row and their indices.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// The k largest values of each row, falling; of equal values, the lowest index comes first.
struct TopK {
  int64_t S = 0, width = 0, k = 0;  // k <= 64
  Operand x;
  int64_t x_stride = 0;
  Operand ids;     // int32 [S, k]
  Operand values;  // f32 [S, k]

  bool operator==(const TopK&) const = default;
  const char* kind() const { return "top_k"; }
  Features features() const { return {Feature::selection}; }
  double flops() const { return 1.0 * S * width; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.x, Use::read, op.S, op.width, op.x_stride), ids_of(op.ids, Use::write, op.S, op.k),
                      rows_of(op.values, Use::write, op.S, op.k, op.k)};
  }
};

}  // namespace tandem
