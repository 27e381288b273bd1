// The operator ExpertSum: the weighted sum of the results of a token's experts.
#pragma once

#include <utility>

#include "engine/device/operators/expert_slots.h"

namespace tandem {

// Adds the results of a token's experts in the order of its choices, which is ascending by expert. y[s] is one
// ascending fma chain of weights[s, i] * x[s, i], from 0 on. The result of a shared expert comes last: y =
// fma(sigmoid(gate[s]), shared[s], y), or y + shared[s] without a gate. With `row_of` (ExpertSlots), a choice that has
// a row there is read from `slots`, and a dropped choice adds nothing.
struct ExpertSum {
  int64_t S = 0, k = 0, width = 0;
  Operand x;        // f32 [S, k, width], dense
  Operand weights;  // f32 [S, k]
  Operand shared;   // optional, [S, width], dense
  Operand gate;     // optional, one value for each token, gate_stride apart
  int64_t gate_stride = 0;
  Operand y;       // [S, width], dense
  Operand row_of;  // optional, int32 [S, k]
  Operand slots;   // f32 [rows, width], dense; with row_of
  int64_t rows = 0;

  bool operator==(const ExpertSum&) const = default;
  const char* kind() const { return "expert_sum"; }
  Features features() const {
    Features all{Feature::weighted_sum};
    if (shared) all.add(Feature::shared_expert);
    if (gate) all.add(Feature::gated_shared_expert);
    if (rows > 0) all.add(Feature::capacities);
    return all;
  }
  double flops() const { return (2.0 * k + (shared ? 2 : 0)) * S * width; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.x, Use::read, op.S, op.k * op.width, op.k * op.width),
                      rows_of(op.weights, Use::read, op.S, op.k, op.k),
                      rows_of(op.shared, Use::read, op.S, op.width, op.width).only_if(static_cast<bool>(op.shared)),
                      rows_of(op.gate, Use::read, op.S, 1, op.gate_stride).only_if(static_cast<bool>(op.gate)),
                      ids_of(op.row_of, Use::read, op.S, op.k).only_if(op.rows > 0),
                      slots_of(op),
                      rows_of(op.y, Use::write, op.S, op.width, op.width)};
  }

 private:
  template <typename Self>
  static auto slots_of(Self& op) {
    auto view = rows_of(op.slots, Use::read, op.rows, op.width, op.width);
    view.token_bytes = 0;
    return std::move(view).only_if(op.rows > 0);
  }
};

}  // namespace tandem
