// The operator Softmax: softmax over each row, in place.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

struct Softmax {
  int64_t S = 0, width = 0;
  Operand x;
  int64_t x_stride = 0;

  bool operator==(const Softmax&) const = default;
  const char* kind() const { return "softmax"; }
  Features features() const { return {Feature::softmax}; }
  double flops() const { return 4.0 * S * width; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.x, Use::update, op.S, op.width, op.x_stride)};
  }
};

}  // namespace tandem
