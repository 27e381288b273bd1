// The operator Scale: scales activations in place, with an optional soft cap.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// x[s, i] *= factor. With a cap, x becomes cap * tanh(x * factor / cap); the logits of some models have one.
struct Scale {
  int64_t S = 0, width = 0;
  Operand x;
  int64_t x_stride = 0;
  float factor = 1;
  float cap = 0;  // 0: no cap

  bool operator==(const Scale&) const = default;
  const char* kind() const { return "scale"; }
  Features features() const {
    Features all{Feature::element_wise};
    if (cap > 0) all.add(Feature::soft_cap);
    return all;
  }
  double flops() const { return (cap > 0 ? 5.0 : 1.0) * S * width; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.x, Use::update, op.S, op.width, op.x_stride)};
  }
};

}  // namespace tandem
