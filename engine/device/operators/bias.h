// The operator Bias: adds the same row of constants to every row, in place.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// x[s, i] += bias[i]
struct Bias {
  int64_t S = 0, width = 0;
  Operand x;
  int64_t x_stride = 0;
  Operand bias;  // f32 [width]

  bool operator==(const Bias&) const = default;
  const char* kind() const { return "bias"; }
  Features features() const { return {Feature::element_wise}; }
  double flops() const { return 1.0 * S * width; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.x, Use::update, op.S, op.width, op.x_stride), constants_of(op.bias, op.width)};
  }
};

}  // namespace tandem
