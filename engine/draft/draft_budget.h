// M4, never a loss: how much time a text may lose by drafts that are wrong.
//
// A pass with drafts takes longer than one without. The difference is spent, and each accepted draft earns the time of
// a pass without drafts. Drafts that could lose more than the text has are not run. So a text whose drafts are wrong
// loses kAllowedPasses and kAllowedShare of its time at most.
//
// Contract: a value; times in any unit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tandem {

class DraftBudget {
 public:
  static constexpr double kAllowedPasses = 1, kAllowedShare = 0.01, kMostPasses = 16;

  // plain: the time of a pass without drafts. extra: what a pass with drafts takes longer.
  bool allows(double extra, double plain) const {
    return extra <= earned_ + kAllowedPasses * plain + kAllowedShare * elapsed_;
  }
  // After a pass. extra: 0 for a pass without drafts. Earlier gains allow no more than kMostPasses passes of loss.
  void add(double plain, double extra, int64_t accepted) {
    elapsed_ += plain + extra;
    earned_ = std::min(earned_ + plain * static_cast<double>(accepted) - extra, kMostPasses * plain);
  }

 private:
  double earned_ = 0, elapsed_ = 0;
};

}  // namespace tandem
