// The operator ArgMax: the index of the largest value of each row.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// ids[s] = index of the largest value of row s; of equal values, the lowest index.
struct ArgMax {
  int64_t S = 0, width = 0;
  Operand x;
  int64_t x_stride = 0;
  Operand ids;  // int32 [S]

  bool operator==(const ArgMax&) const = default;
  const char* kind() const { return "argmax"; }
  Features features() const { return {Feature::comparison}; }
  double flops() const { return 1.0 * S * width; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.x, Use::read, op.S, op.width, op.x_stride), ids_of(op.ids, Use::write, op.S)};
  }
};

}  // namespace tandem
