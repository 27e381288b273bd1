// The prediction of H7: kernels of one operator and shape take the same time in every layer.
//
// Contract: one object for each (program, shape), used by one thread at a time. Running estimate of the least time; the
// first sample (hidden compile) is not used.
#pragma once

namespace tandem::sync {

class DurationPredictor {
 public:
  void observe(double seconds);
  // The wait was longer than it had to be, nobody knows by how much: without this a prediction that is too long
  // confirms itself for ever.
  void observe_overslept();
  double predict() const;  // 0: unknown
  // What is left of it that long after the work began; 0: unknown, or all of it has passed.
  double predict_after(double seconds) const;
  double relative_error() const;  // mean |predicted - observed| / observed of the samples so far
  int samples() const { return samples_; }

 private:
  double estimate_ = 0, error_sum_ = 0;
  int samples_ = 0, overslept_ = 0;  // the latter: in a row, at most 2
};

}  // namespace tandem::sync
