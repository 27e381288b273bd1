// Times operators of few tokens as a pass runs them: with weights and KV cache in memory, not in the last-level cache.
// A pass reads all weights between two uses of one matrix. Operators of one shape that follow each other would find a
// part of their weights in the cache.
//
// How: before each timed run the device reads the other weights of the pass, with one token for each matmul. The time
// is taken from the recorded spans of the timed operators alone.
//
// Contract: the operators' own buffers are used and overwritten. One thread, the executor's. Borrows everything.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/operator.h"
#include "engine/run/pass/executor.h"
#include "engine/run/pass/timeline.h"

namespace tandem {

// Seconds from the first operator's start to the last one's end on a device, without waits. 0: the timeline has no span
// of that device.
double seconds_on(const Timeline& timeline, const std::string& device);

// The matmuls of a pass that the device supports, with one token each. Matmuls with the same shape of weights as
// `except` are left out (nullptr: none is). The list ends where its weights have more bytes than any cache.
std::vector<Operator> rest_of_pass(const Device& device, std::span<const Operator> pass, const MatMul* except);

class ColdRun {
 public:
  // rest: what the device reads before each timed run. Empty: it reads nothing.
  ColdRun(Executor& executor, Device& device, std::vector<Operator> rest);

  // Seconds of the plan's operators on the device. A device that records no spans counts with the whole run.
  double seconds(PreparedPlan& timed);

 private:
  Executor& executor_;
  Device& device_;
  std::unique_ptr<PreparedPlan> rest_;
};

}  // namespace tandem
