// A running prediction of a kernel's time (H7): kernels of one operator and shape take the same time in each layer.
//
// Contract: one object for each (program, shape), used by one thread at a time. It estimates the least time. The first
// sample (hidden compile) is not used.
#pragma once

namespace tandem::sync {

class DurationPredictor {
 public:
  void observe(double seconds);
  // Call this in place of observe() when the wait was too long by an unknown time. Without it, a prediction that is too
  // long confirms itself for ever.
  void observe_overslept();
  double predict() const;  // 0: unknown
  // The part of predict() that remains when the work began `seconds` ago; 0: unknown, or no time remains.
  double predict_after(double seconds) const;
  double relative_error() const;  // mean |predicted - observed| / observed over the samples so far
  int samples() const { return samples_; }

 private:
  double estimate_ = 0, error_sum_ = 0;
  int samples_ = 0, overslept_ = 0;  // overslept_: late wake-ups in a row, at most 2
};

}  // namespace tandem::sync
