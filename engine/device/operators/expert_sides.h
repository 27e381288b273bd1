// The operator ExpertSides: divides the experts that a pass chose between a GPU and near-memory units.
#pragma once

#include "engine/device/operators/expert_lists.h"
#include "engine/tensor/expert_divider.h"
#include "engine/tensor/routing.h"

namespace tandem {

// G3, G4: asks a rule which side computes each expert, and writes choices and lists for each side. Choices of other
// sides are kElsewhere there. It runs on the host between the router and the products, so a pass does not stop.
struct ExpertSides {
  int64_t S = 0, E = 0, k = 0;
  int64_t layer = 0, sides = 2;
  Operand ids;      // int32 [S, k], each in [0, E)
  Operand of_side;  // int32 [sides, S, k], side_ids_bytes apart: ids; kElsewhere: another side computes the choice
  Operand lists;    // int32 [sides, S, expert_list_words(E, k)], side_lists_bytes apart: ExpertLists of each side
  size_t side_ids_bytes = 0, side_lists_bytes = 0;
  Operand row_of;  // int32 [S, k]: kElsewhere on side 0, otherwise the number of the choice (ExpertSum)
  ExpertDivider* divider = nullptr;  // borrowed

  bool operator==(const ExpertSides&) const = default;
  const char* kind() const { return "expert_sides"; }
  Features features() const { return {Feature::capacities}; }
  double flops() const { return 1.0 * S * k; }
  template <typename Self>
  static auto views(Self& op) {
    const auto last = static_cast<size_t>(op.sides - 1);
    const size_t ids = static_cast<size_t>(op.S * op.k) * sizeof(int32_t);
    const size_t lists = static_cast<size_t>(op.S * expert_list_words(op.E, op.k)) * sizeof(int32_t);
    return std::array{ids_of(op.ids, Use::read, op.S, op.k),
                      whole(op.of_side, Use::write, Role::ids, last * op.side_ids_bytes + ids),
                      whole(op.lists, Use::write, Role::ids, last * op.side_lists_bytes + lists),
                      ids_of(op.row_of, Use::write, op.S, op.k)};
  }
};

}  // namespace tandem
