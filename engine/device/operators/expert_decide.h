// The operator ExpertDecide: says who computes which expert of a layer, while the pass runs (Y2).
//
// It runs on the host behind the router. Lanes read its lists from memory, so no pass stops for a decision.
#pragma once

#include <algorithm>
#include <string>

#include "engine/device/operators/expert_lists.h"
#include "engine/tensor/expert_lanes.h"

namespace tandem {

// The places of a decision's parts in its memory, in words of 4 bytes.
struct LaneLayout {
  int64_t S = 0, k = 0;
  LaneSizes sizes;

  int64_t choices() const { return S * k; }
  int64_t in_slots() const { return 0; }
  int64_t on_host() const { return choices(); }
  int64_t row_of() const { return 2 * choices(); }
  int64_t slot_lists() const { return 3 * choices(); }
  int64_t turn_words() const {
    return choices() + S * expert_list_words(sizes.places, k) + 2 * move_table_words(sizes.places);
  }
  int64_t turn(int64_t t) const { return slot_lists() + S * expert_list_words(sizes.slots, k) + t * turn_words(); }
  int64_t landed(int64_t t) const { return turn(t); }
  int64_t landed_lists(int64_t t) const { return turn(t) + choices(); }
  int64_t copies(int64_t t) const { return landed_lists(t) + S * expert_list_words(sizes.places, k); }
  int64_t keepings(int64_t t) const { return copies(t) + move_table_words(sizes.places); }
  int64_t inserts() const { return turn(sizes.turns); }
  int64_t words() const { return inserts() + (sizes.inserts > 0 ? move_table_words(sizes.inserts) : 0); }
  bool operator==(const LaneLayout&) const = default;
};

struct ExpertDecide {
  int64_t S = 0, E = 0, k = 0, layer = 0;
  LaneSizes sizes;
  std::string schedule;  // as in LaneRequest
  bool keeps = false;
  Operand ids;      // int32 [S, k], each in [0, E)
  Operand weights;  // f32 [S, k]
  Operand tables;   // int32 [layout().words()]
  ExpertLanes* lanes = nullptr;

  bool operator==(const ExpertDecide&) const = default;
  LaneLayout layout() const { return {S, k, sizes}; }
  const char* kind() const { return "expert_decide"; }
  Features features() const { return {Feature::moving_experts}; }
  double flops() const { return 1.0 * S * k; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{ids_of(op.ids, Use::read, op.S, op.k), rows_of(op.weights, Use::read, op.S, op.k, op.k),
                      whole(op.tables, Use::write, Role::ids,
                            static_cast<size_t>(std::max<int64_t>(op.layout().words(), 1)) * sizeof(int32_t))};
  }
};

}  // namespace tandem
