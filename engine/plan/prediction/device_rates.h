// Estimates the times of operators on one device, learnt from passes that users asked for (H8, prediction mode). A
// formula gives the bare work. Each class of operators has a ratio, which says how much longer it takes.
//
//   seconds = ratio(class) * (launch + max(bytes / bandwidth, flops / rate))
//
// A matmul's flops count whole panels, and two tokens more than it has, which stand for unpacking the weights. A class
// (operator_class.h) without samples takes the estimate of the most similar ones (pooled_ratios.h). So a second model
// with a known format is known.
//
// Contract: a value; pure. Rates that are wrong by a factor at first are right after one pass.
#pragma once

#include "engine/plan/prediction/operator_class.h"
#include "engine/plan/prediction/pooled_ratios.h"

namespace tandem {

// The rates of a device without samples.
struct PriorRates {
  double flops_per_second = 100e9, bytes_per_second = 12e9;
  double launch_seconds = 1e-6;
};

// Seconds by the formula alone, with a ratio of 1.
double prior_seconds(const PriorRates& rates, const TimedOperator& timed);

class DeviceRates {
 public:
  explicit DeviceRates(PriorRates prior) : prior_(prior) {}

  double seconds(const TimedOperator& timed) const;
  // Takes a sample. weight: 1, or less for a sample with contention.
  void learn(const TimedOperator& timed, double seconds, double weight = 1);

  const PriorRates& prior() const { return prior_; }
  const PooledRatios<OperatorClass>& ratios() const { return ratios_; }
  PooledRatios<OperatorClass>& ratios() { return ratios_; }

 private:
  PriorRates prior_;
  PooledRatios<OperatorClass> ratios_;
};

}  // namespace tandem
