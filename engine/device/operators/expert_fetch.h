// The operator ExpertFetch: brings experts that a pass chose into the slots of their layer.
//
// It runs on the host between the router and the products. A store reads missing experts into slots
// (engine/tensor/expert_source.h). The operator translates the choices of experts into numbers of slots, so products
// address the slots like any other stack of matrices.
#pragma once

#include <algorithm>

#include "engine/device/operators/expert_lists.h"
#include "engine/tensor/expert_source.h"

namespace tandem {

struct ExpertFetch {
  int64_t S = 0, E = 0, k = 0;
  int64_t wave = 0, layer = 0;
  int64_t slots = 0;      // of the layer
  size_t slot_bytes = 0;  // of each slot
  Operand ids;            // int32 [S, k], each in [0, E)
  Operand weights;        // f32 [S, k]
  Operand places;         // int32 [S, k]: slots; kElsewhere: the choice belongs to another wave
  Operand lists;          // optional: int32 [S, expert_list_words(slots, k)], as ExpertLists makes them of places
  Operand experts;        // the slots, side by side
  ExpertSource* source = nullptr;

  bool operator==(const ExpertFetch&) const = default;
  const char* kind() const { return "expert_fetch"; }
  Features features() const { return {Feature::moving_experts}; }
  double flops() const { return 1.0 * S * k; }
  // The bytes that are read if the slots hold a random part of the experts.
  double expected_bytes() const {
    const auto asked = static_cast<double>(std::min(S * k, E));
    const double missing = std::max(0.0, 1 - static_cast<double>(slots) / static_cast<double>(E));
    return asked * missing * static_cast<double>(slot_bytes);
  }
  template <typename Self>
  static auto views(Self& op) {
    const double moved = op.expected_bytes();
    return std::array{
        ids_of(op.ids, Use::read, op.S, op.k), rows_of(op.weights, Use::read, op.S, op.k, op.k),
        ids_of(op.places, Use::write, op.S, op.k),
        ids_of(op.lists, Use::write, op.S, expert_list_words(op.slots, op.k)).only_if(static_cast<bool>(op.lists)),
        whole(op.experts, Use::update, Role::weights, static_cast<size_t>(op.slots) * op.slot_bytes)
            .moving(moved / sizeof(float), moved)};
  }
};

}  // namespace tandem
