// The operator Add: adds one activation to another, in place.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// x[s, i] += y[s, i]
struct Add {
  int64_t S = 0, width = 0;
  Operand x, y;
  int64_t x_stride = 0, y_stride = 0;

  bool operator==(const Add&) const = default;
  const char* kind() const { return "add"; }
  Features features() const { return {Feature::element_wise}; }
  double flops() const { return 1.0 * S * width; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.x, Use::update, op.S, op.width, op.x_stride),
                      rows_of(op.y, Use::read, op.S, op.width, op.y_stride)};
  }
};

}  // namespace tandem
