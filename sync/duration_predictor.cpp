#include <cmath>

#include "sync/waiter.h"

namespace tandem::sync {

// H7: exponential average over roughly the last eight runs. Sample 0 holds the driver's hidden compile, 100 to 1000
// times the steady duration on PoCL: it stands only until the second sample replaces it.
void DurationPredictor::observe(double seconds) {
  constexpr double kWeight = 0.125;
  if (samples_ <= 1) {
    estimate_ = seconds;
  } else {
    if (seconds > 0) error_sum_ += std::abs(estimate_ - seconds) / seconds;
    estimate_ += kWeight * (seconds - estimate_);
  }
  ++samples_;
}

void DurationPredictor::observe_overslept() {
  constexpr double kShrink = 0.75;
  estimate_ *= kShrink;
  ++samples_;
}

double DurationPredictor::predict() const { return samples_ == 0 ? 0.0 : estimate_; }

double DurationPredictor::relative_error() const { return samples_ <= 2 ? 0.0 : error_sum_ / (samples_ - 2); }

}  // namespace tandem::sync
