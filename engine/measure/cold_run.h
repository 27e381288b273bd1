// Times operators of few tokens as a pass meets them: with weights and KV cache in memory. A pass reads all weights
// between two uses of one matrix; operators of one shape that follow each other would find a part of theirs in the
// last-level cache still.
//
// How: before each timed run the device reads what else the pass reads, one token each; what is timed are the recorded
// spans of the operators alone.
//
// Contract: the operators' own buffers are used and overwritten. One thread, the executor's. Borrows everything.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/operator.h"
#include "engine/run/executor.h"
#include "engine/run/timeline.h"

namespace tandem {

// From the first operator's start to the last one's end on a device, without waits; 0: it recorded none.
double seconds_on(const Timeline& timeline, const std::string& device);

// The matmuls of a pass that a device runs, one token each, but for those of `except`'s weights (nullptr: all of them);
// the first ones, where they have more bytes than any cache.
std::vector<Operator> rest_of_pass(const Device& device, std::span<const Operator> pass, const MatMul* except);

class ColdRun {
 public:
  // rest: may be empty, then nothing is read before.
  ColdRun(Executor& executor, Device& device, std::vector<Operator> rest);

  // Seconds of the plan's operators on the device; of the whole run, where the device does not record.
  double seconds(PreparedPlan& timed);

 private:
  Executor& executor_;
  Device& device_;
  std::unique_ptr<PreparedPlan> rest_;
};

}  // namespace tandem
