// When a pass is worth recording with its steps: seldom enough that all
// recordings together cost one part in a hundred of the time.
//
// Method: a recorded pass cost what it took longer than the last pass of as many tokens that was not recorded, and at
// least 2 % of its own time. The next one comes a hundred times that later, between 0.2 s and 5 s.
//
// Contract: plain values; no thread and no clock of its own. Units: seconds.
#pragma once

#include <cstdint>
#include <map>

namespace tandem::serve {

class StepSampling {
 public:
  bool is_due(double now_seconds) const { return now_seconds >= next_seconds_; }
  // A pass has run. end_seconds: on the clock of is_due().
  void add(int64_t tokens, double seconds, bool was_recorded, double end_seconds);

 private:
  std::map<int64_t, double> usual_seconds_;  // by tokens: the last pass that was not recorded
  double next_seconds_ = 0;
};

}  // namespace tandem::serve
