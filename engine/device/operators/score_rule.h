// The rule that turns the product of a query and a key into a score, before the softmax.
//
// It holds the points in which models' attentions differ, in one value. The operator, the host's loops and the lowering
// for GPUs pass it on unchanged.
//
// Contract: exact() defines the effect of each field on a score, and features() the features that a device needs for
// it. The host's loops are compiled for instruction sets of their own. So they read the fields and call nothing here.
#pragma once

#include <cmath>

#include "engine/device/operators/feature.h"

namespace tandem {

struct ScoreRule {
  float scale = 1;
  float soft_cap = 0;  // above 0: a score s becomes soft_cap * tanh(s / soft_cap), before unseen positions are masked

  bool operator==(const ScoreRule&) const = default;
  Features features() const { return soft_cap > 0 ? Features{Feature::capped_attention} : Features{}; }
  // The score of a product of a query and a key, in double precision.
  double exact(double product) const {
    const double score = product * scale;
    return soft_cap > 0 ? soft_cap * std::tanh(score / soft_cap) : score;
  }
};

}  // namespace tandem
