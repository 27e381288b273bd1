// The operator ExpertSlots: gives choices of experts a row in the buffers of static graphs.
#pragma once

#include <vector>

#include "engine/device/operators/expert_lists.h"
#include "engine/tensor/routing.h"

namespace tandem {

// The rows of an expert in the buffers of static graphs: [begin, begin + capacity). capacity 0: the expert has none.
struct ExpertRows {
  int64_t begin = 0, capacity = 0;
  bool operator==(const ExpertRows&) const = default;
};

// N3, N7: gives choices (ExpertLists) a row of their expert, in buffers of `rows` rows, as long as the expert has rows.
// An expert may have more choices than rows. Without `x`, its first tokens get the rows; the other choices are listed,
// and another device computes them. With `x`, the tokens whose rows of x are the longest vectors get the rows (of
// equals, the earlier ones); the other choices are dropped. Choices of experts without rows are always listed.
struct ExpertSlots {
  int64_t S = 0, E = 0, k = 0, rows = 0;
  std::vector<ExpertRows> experts;  // [E], which do not overlap
  Operand ids;                      // int32 [S, k], each in [0, E)
  Operand x;                        // optional, f32 [S, width], x_stride
  int64_t width = 0, x_stride = 0;
  Operand choice_of;  // int32 [rows]: the choice that has the row; -1: none
  Operand row_of;     // int32 [S, k]: the choice's row, kElsewhere or kDropped
  Operand lists;      // int32 [S, expert_list_words(E, k)]: lists of the choices elsewhere, as in ExpertLists

  bool operator==(const ExpertSlots&) const = default;
  const char* kind() const { return "expert_slots"; }
  Features features() const { return {Feature::capacities}; }
  double flops() const { return 1.0 * S * k + 2.0 * S * width; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{ids_of(op.ids, Use::read, op.S, op.k),
                      rows_of(op.x, Use::read, op.S, op.width, op.x_stride).only_if(static_cast<bool>(op.x)),
                      whole(op.choice_of, Use::write, Role::ids, static_cast<size_t>(op.rows) * sizeof(int32_t)),
                      ids_of(op.row_of, Use::write, op.S, op.k),
                      ids_of(op.lists, Use::write, op.S, expert_list_words(op.E, op.k))};
  }
};

}  // namespace tandem
