// What becomes of the product of a query and a key before the softmax: what models vary in attention, in one value that
// the operator, the host's loops and the lowering for GPUs pass on as it is.
//
// Contract: a field's effect on a score is said in exact(), and the feature that it asks of a device in features(). The
// host's loops are compiled for instruction sets of their own: they read the fields and call nothing here.
#pragma once

#include <cmath>

#include "engine/device/operators/feature.h"

namespace tandem {

struct ScoreRule {
  float scale = 1;
  float soft_cap = 0;  // above 0: scores s become soft_cap * tanh(s / soft_cap), before what is not seen is left out

  bool operator==(const ScoreRule&) const = default;
  Features features() const { return soft_cap > 0 ? Features{Feature::capped_attention} : Features{}; }
  // The score of a product, in double precision.
  double exact(double product) const {
    const double score = product * scale;
    return soft_cap > 0 ? soft_cap * std::tanh(score / soft_cap) : score;
  }
};

}  // namespace tandem
