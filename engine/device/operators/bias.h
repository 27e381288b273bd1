// The operator Bias: adds a row of constants to every row, in place: the same one, or that of the row's expert.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// x[s, i] += bias[i]. With `chosen` a token has `rows` rows, one for each of its experts, and row r gets bias[ids[s,
// r]]. Rows whose place is kElsewhere stay as they are (ExpertFetch): another wave computes them.
struct Bias {
  int64_t S = 0, width = 0;
  Operand x;
  int64_t x_stride = 0;
  Operand bias;  // f32 [width], or [experts, width]
  int64_t rows = 1, experts = 0;
  bool chosen = false;
  Operand ids = {}, places = {};  // int32 [S, rows]; `places` may be absent

  bool operator==(const Bias&) const = default;
  const char* kind() const { return "bias"; }
  Features features() const {
    return chosen ? Features{Feature::element_wise, Feature::expert_bias} : Features{Feature::element_wise};
  }
  double flops() const { return 1.0 * S * rows * width; }
  template <typename Self>
  static auto views(Self& op) {
    auto x = rows_of(op.x, Use::update, op.S * op.rows, op.width, op.x_stride);
    x.token_bytes *= static_cast<size_t>(op.rows);
    return std::array{x, constants_of(op.bias, op.chosen ? op.experts * op.width : op.width),
                      ids_of(op.ids, Use::read, op.S, op.rows).only_if(op.chosen),
                      ids_of(op.places, Use::read, op.S, op.rows).only_if(op.chosen && op.places)};
  }
};

}  // namespace tandem
