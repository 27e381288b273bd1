// The operator Scale: scales activations in place, by one factor or by that of a row's expert, with an optional
// soft cap.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// x[s, i] *= factor. With a cap, x becomes cap * tanh(x * factor / cap); the logits of some models have one. With
// `chosen` a token has `rows` rows, one for each of its experts, and row r is multiplied by factors[ids[s, r]] alone.
// Rows whose place is kElsewhere stay as they are (ExpertFetch): another wave computes them.
struct Scale {
  int64_t S = 0, width = 0;
  Operand x;
  int64_t x_stride = 0;
  float factor = 1;
  float cap = 0;  // 0: no cap
  int64_t rows = 1, experts = 0;
  bool chosen = false;
  Operand factors = {};           // f32 [experts]
  Operand ids = {}, places = {};  // int32 [S, rows]; `places` may be absent

  bool operator==(const Scale&) const = default;
  const char* kind() const { return "scale"; }
  Features features() const {
    Features all{Feature::element_wise};
    if (cap > 0) all.add(Feature::soft_cap);
    if (chosen) all.add(Feature::expert_factor);
    return all;
  }
  double flops() const { return (cap > 0 ? 5.0 : 1.0) * S * rows * width; }
  template <typename Self>
  static auto views(Self& op) {
    auto x = rows_of(op.x, Use::update, op.S * op.rows, op.width, op.x_stride);
    x.token_bytes *= static_cast<size_t>(op.rows);
    return std::array{x, constants_of(op.factors, op.experts).only_if(op.chosen),
                      ids_of(op.ids, Use::read, op.S, op.rows).only_if(op.chosen),
                      ids_of(op.places, Use::read, op.S, op.rows).only_if(op.chosen && op.places)};
  }
};

}  // namespace tandem
