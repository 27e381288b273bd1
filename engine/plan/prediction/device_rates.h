// Estimates the times of operators on one device, learnt from passes that users asked for (H8, prediction mode). A
// formula gives the bare work. Each class of operators has a ratio, which says how much longer it takes.
//
//   seconds = ratio(class) * (launch + max(bytes / bandwidth, flops / rate))
//
// A matmul's flops count whole panels, and two tokens more than it has, which stand for unpacking the weights. Its
// class has four parts: the weights' format; the tokens, up to the next power of two; for few tokens, whether another
// device reads memory too; and the bytes of the weights, in powers of four. The class of an attention has the tokens,
// the depth, and whether its scores have a soft cap. A class without samples takes the estimate of the most similar
// ones (engine/plan/prediction/pooled_ratios.h). So a second model with a known format is known.
//
// Contract: a value; pure. Rates that are wrong by a factor at first are right after one pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/device/operator.h"
#include "engine/plan/prediction/pooled_ratios.h"

namespace tandem {

// The rates of a device without samples.
struct PriorRates {
  double flops_per_second = 100e9, bytes_per_second = 12e9;
  double launch_seconds = 1e-6;
};

// An operator, and the circumstances that its time depends on. past: positions before its first token, for attention.
struct TimedOperator {
  const Operator& op;
  int64_t past = 0;
  bool beside = false;  // another device is at work
};

// The next power of two, at least 1. Names of classes have counts in this form.
uint64_t up_to(int64_t count);

// The operator's class at each level of detail, from the broadest to the finest: "all", "matmul", "matmul FORMAT",
// "matmul FORMAT S64", ...
std::vector<std::string> classes_of(const TimedOperator& timed);
// Seconds by the formula alone, with a ratio of 1.
double prior_seconds(const PriorRates& rates, const TimedOperator& timed);

class DeviceRates {
 public:
  explicit DeviceRates(PriorRates prior) : prior_(prior) {}

  double seconds(const TimedOperator& timed) const;
  // Takes a sample. weight: 1, or less for a sample with contention.
  void learn(const TimedOperator& timed, double seconds, double weight = 1);

  const PriorRates& prior() const { return prior_; }
  const PooledRatios& ratios() const { return ratios_; }
  PooledRatios& ratios() { return ratios_; }

 private:
  PriorRates prior_;
  PooledRatios ratios_;
};

}  // namespace tandem
