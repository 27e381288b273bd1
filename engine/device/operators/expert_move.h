// The operator ExpertMove: copies experts from one stack to another, as a table says that a decision wrote.
//
// The link runs it: from the host's memory to a landing, and from a landing to the slots of a layer.
#pragma once

#include "engine/device/operators/view.h"
#include "engine/tensor/expert_lanes.h"

namespace tandem {

struct ExpertMove {
  int64_t S = 0;  // tokens of the pass
  int64_t layer = 0;
  int64_t most = 0;  // entries of the table
  int64_t from_count = 0, to_count = 0;
  size_t expert_bytes = 0;        // of each expert in both stacks
  double expected = 0;            // copies that are expected; costs are counted by it
  Operand table;                  // int32 [move_table_words(most)]
  Operand from, to;               // experts, side by side
  Operand behind;                 // optional, f32 [1]: the copies begin when it is written
  ExpertLanes* keeper = nullptr;  // is told of each expert that is in its slot; nullptr: `to` is a landing
  bool stays_on_gpu = false;      // from a landing to slots: not over the link

  bool operator==(const ExpertMove&) const = default;
  const char* kind() const { return "expert_move"; }
  Features features() const { return {Feature::copied_experts}; }
  double flops() const { return 0; }
  template <typename Self>
  static auto views(Self& op) {
    const double moved = op.expected * static_cast<double>(op.expert_bytes);
    return std::array{
        whole(op.table, Use::read, Role::ids, static_cast<size_t>(move_table_words(op.most)) * sizeof(int32_t)),
        whole(op.from, Use::read, Role::weights, static_cast<size_t>(op.from_count) * op.expert_bytes)
            .moving(moved / sizeof(float), moved),
        rows_of(op.behind, Use::read, 1, 1, 1).only_if(static_cast<bool>(op.behind)),
        whole(op.to, Use::update, Role::weights, static_cast<size_t>(op.to_count) * op.expert_bytes)
            .moving(moved / sizeof(float), moved)};
  }
};

}  // namespace tandem
