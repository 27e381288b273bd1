// The operator GatherRows: brings the rows of chosen tokens together.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// N3: collects the tokens of choices (ExpertLists) for graphs with a fixed number of rows. y[r] = x[c / k] for the
// choice c = choice_of[r], or zeros when the row has no choice.
struct GatherRows {
  int64_t S = 0, k = 0, rows = 0, width = 0;
  Operand x;  // f32 [S, width], x_stride
  int64_t x_stride = 0;
  Operand choice_of;  // int32 [rows], from ExpertSlots
  Operand y;          // f32 [rows, width], dense

  bool operator==(const GatherRows&) const = default;
  const char* kind() const { return "gather_rows"; }
  Features features() const { return {Feature::capacities}; }
  double flops() const { return 0; }
  template <typename Self>
  static auto views(Self& op) {
    auto gathered = rows_of(op.y, Use::write, op.rows, op.width, op.width);
    gathered.token_bytes = 0;
    return std::array{rows_of(op.x, Use::read, op.S, op.width, op.x_stride),
                      whole(op.choice_of, Use::read, Role::ids, static_cast<size_t>(op.rows) * sizeof(int32_t)),
                      gathered};
  }
};

}  // namespace tandem
