#include "sync/duration_predictor.h"

#include <algorithm>
#include <cmath>

namespace tandem::sync {

// H7. The estimate is of the least time that will pass: a sleeper that wakes too late delays every other device, one
// that wakes too early only polls. So the estimate falls quickly (by half the difference) and rises slowly (by a
// sixteenth). A sample counts as at most twice the estimate, so one interruption of milliseconds does not put the next
// waits to sleep. Sample 0 contains the driver's hidden compile, 100 to 1000 times the steady duration on PoCL, and
// predicts nothing.
void DurationPredictor::observe(double seconds) {
  constexpr double kFall = 0.5, kRise = 1.0 / 16, kOutlier = 2;
  if (samples_ <= 1) {
    estimate_ = seconds;
  } else {
    if (seconds > 0) error_sum_ += std::abs(estimate_ - seconds) / seconds;
    const double sample = std::min(seconds, kOutlier * estimate_);
    estimate_ += (sample < estimate_ ? kFall : kRise) * (sample - estimate_);
  }
  overslept_ = 0;
  ++samples_;
}

// One late wake-up says little about the duration. A prediction that is cut in half means spinning for the many samples
// that it needs to rise again. Several late wake-ups in a row show that the prediction is wrong. So the cuts grow: an
// eighth, a quarter, then half each time.
void DurationPredictor::observe_overslept() {
  constexpr double kFirstCut = 1.0 / 8, kLargestCut = 0.5;
  estimate_ *= 1 - std::min(kFirstCut * (1 << overslept_), kLargestCut);
  overslept_ = std::min(overslept_ + 1, 2);
  ++samples_;
}

double DurationPredictor::predict() const { return samples_ < 2 ? 0.0 : estimate_; }

double DurationPredictor::predict_after(double seconds) const { return std::max(0.0, predict() - seconds); }

double DurationPredictor::relative_error() const { return samples_ <= 2 ? 0.0 : error_sum_ / (samples_ - 2); }

}  // namespace tandem::sync
