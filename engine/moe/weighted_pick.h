// Picks one of several items, each with a chance in proportion to its weight.
//
// Contract: a pure function.
#pragma once

#include <cstddef>
#include <span>

namespace tandem {

// The item in whose part of the weights' sum `at` lies; 0 <= at < sum. An item of weight 0 is picked only if all are 0.
// If rounding leaves a rest of `at`, the last item with weight is picked.
inline size_t weighted_pick(std::span<const double> weights, double at) {
  size_t picked = 0;
  for (size_t i = 0; i < weights.size() && at >= 0; ++i) {
    if (weights[i] <= 0) continue;
    picked = i;
    at -= weights[i];
  }
  return picked;
}

}  // namespace tandem
