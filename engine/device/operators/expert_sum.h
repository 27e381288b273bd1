#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// What the experts of a token found, added up in the order of its choices, which is that of the experts: y[s] = one
// ascending fma chain of weights[s, i] * x[s, i] from 0 on. With a shared expert its result comes last:
// y = fma(sigmoid(gate[s]), shared[s], y), or y + shared[s] without a gate.
struct ExpertSum {
  int64_t S = 0, k = 0, width = 0;
  Operand x;        // f32 [S, k, width], dense
  Operand weights;  // f32 [S, k]
  Operand shared;   // optional, [S, width], dense
  Operand gate;     // optional, one value a token, gate_stride apart
  int64_t gate_stride = 0;
  Operand y;  // [S, width], dense

  bool operator==(const ExpertSum&) const = default;
  const char* kind() const { return "expert_sum"; }
  Features features() const {
    Features all{Feature::weighted_sum};
    if (shared) all.add(Feature::shared_expert);
    if (gate) all.add(Feature::gated_shared_expert);
    return all;
  }
  double flops() const { return (2.0 * k + (shared ? 2 : 0)) * S * width; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.x, Use::read, op.S, op.k * op.width, op.k * op.width),
                      rows_of(op.weights, Use::read, op.S, op.k, op.k),
                      rows_of(op.shared, Use::read, op.S, op.width, op.width).only_if(static_cast<bool>(op.shared)),
                      rows_of(op.gate, Use::read, op.S, 1, op.gate_stride).only_if(static_cast<bool>(op.gate)),
                      rows_of(op.y, Use::write, op.S, op.width, op.width)};
  }
};

}  // namespace tandem
