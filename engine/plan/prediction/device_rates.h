// What operators take on one device, learnt from passes that users asked for (H8, prediction mode): a formula for the
// bare work, and how much longer than that each class of operators was seen to take.
//
//   seconds = ratio(class) * (launch + max(bytes / bandwidth, flops / rate))
//
// flops of a matmul are those of whole panels and of the tokens it has and two more, which unpacking the weights
// costs. The class of a matmul is its weights' format, its tokens up to the next power of two, whether another device
// reads memory meanwhile (few tokens), and the size of its weights by powers of four; of attention also the depth, and
// whether its scores have a soft cap. What was not seen is taken to be like what is most like it
// (engine/plan/prediction/pooled_ratios.h): a second model of a known format is known.
//
// Contract: a value; pure. Rates that are wrong by a factor at the start are right after the first pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/device/operator.h"
#include "engine/plan/prediction/pooled_ratios.h"

namespace tandem {

// Before anything was seen.
struct PriorRates {
  double flops_per_second = 100e9, bytes_per_second = 12e9;
  double launch_seconds = 1e-6;
};

// One operator as far as its time goes. past: positions before its first token, for attention.
struct TimedOperator {
  const Operator& op;
  int64_t past = 0;
  bool beside = false;  // another device is at work
};

// The next power of two, of one at the least: counts of a class.
uint64_t up_to(int64_t count);

// The levels of detail of its class, from the broadest to the finest.
std::vector<std::string> classes_of(const TimedOperator& timed);
double prior_seconds(const PriorRates& rates, const TimedOperator& timed);

class DeviceRates {
 public:
  explicit DeviceRates(PriorRates prior) : prior_(prior) {}

  double seconds(const TimedOperator& timed) const;
  void learn(const TimedOperator& timed, double seconds, double weight = 1);

  const PriorRates& prior() const { return prior_; }
  const PooledRatios& ratios() const { return ratios_; }
  PooledRatios& ratios() { return ratios_; }

 private:
  PriorRates prior_;
  PooledRatios ratios_;
};

}  // namespace tandem
