// Y4: the recent score of each expert, S <- alpha s + (1 - alpha) S. MRS and EMA differ in what s is.
//
// Contract: S is 0 at first, in double precision. The expert of the least S leaves first.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "engine/moe/expert_policy.h"

namespace tandem {

class RecentScore {
 public:
  RecentScore(int64_t experts, double alpha) : scores_(static_cast<size_t>(experts)), alpha_(alpha) {}

  void clear() { std::ranges::fill(scores_, 0.0); }
  // First every S fades, then each expert that counts adds its share.
  void fade() {
    for (double& score : scores_) score *= 1 - alpha_;
  }
  void add(int32_t expert, double s) { scores_[static_cast<size_t>(expert)] += alpha_ * s; }
  // Adds all of these scores that are not below `least`.
  void add_from(float least, std::span<const float> scores) {
    for (size_t expert = 0; expert < scores.size(); ++expert)
      scores_[expert] += scores[expert] >= least ? alpha_ * static_cast<double>(scores[expert]) : 0.0;
  }
  double of(int32_t expert) const { return scores_[static_cast<size_t>(expert)]; }
  int32_t least(std::span<const int32_t> experts) const {
    return of_least_key(experts, [&](int32_t expert) { return of(expert); });
  }

 private:
  std::vector<double> scores_;  // [E], S
  const double alpha_;
};

}  // namespace tandem
