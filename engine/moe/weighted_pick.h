// Picks one of several things, each with a chance in proportion to its weight.
//
// Contract: a pure function.
#pragma once

#include <cstddef>
#include <span>

namespace tandem {

// The one in whose part of the weights' sum `at` lies, 0 <= at < sum. None without weight is picked, where there is any
// with; of what rounding leaves over the last one gets the rest.
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
