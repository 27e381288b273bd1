#pragma once

#include "engine/device/operators/view.h"
#include "engine/tensor/activation.h"

namespace tandem {

// A gated linear unit: y = activation(gate) * up (Shazeer 2020, arXiv:2002.05202: SwiGLU, GEGLU).
struct Glu {
  int64_t S = 0, I = 0;
  Operand gate, up;  // [S, I], strides
  int64_t gate_stride = 0, up_stride = 0;
  Operand y;  // [S, I], stride y_stride
  int64_t y_stride = 0;
  bool round_f16 = false;
  Activation activation = Activation::silu;

  bool operator==(const Glu&) const = default;
  const char* kind() const { return activation == Activation::silu ? "swiglu" : "geglu"; }
  Features features() const {
    Features all{Feature::activation};
    if (activation == Activation::gelu_tanh) all.add(Feature::gelu);
    return all;
  }
  double flops() const { return 5.0 * S * I; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.gate, Use::read, op.S, op.I, op.gate_stride),
                      rows_of(op.up, Use::read, op.S, op.I, op.up_stride),
                      rows_of(op.y, Use::write, op.S, op.I, op.y_stride)};
  }
};

}  // namespace tandem
