// One waiting policy of one device by itself: a step that the host starts and whose end it learns. For measuring what
// waiting costs, and for the self-tests.
//
// Contract
//   Policies (H7): "blocking" (clFinish, fence, a sleeping thread), "event" (event or timeline semaphore, waited for
//   and polled), "spin" (a flag in shared memory), "predict" (sleep the predicted time, then spin, yield, block),
//   "gate" (work queued ahead behind a gate that the host opens), "doorbell" (a resident kernel or thread that takes
//   work from shared memory). A step computes for about work_seconds on the device (calibrated when the probe is made;
//   0: only the hand-over) and writes a value that wait() checks: a lost step is an Error, not a short time. Threads:
//   one. Every wait is bounded. Failure: Error naming device, policy and step; the device stays usable. Ownership: the
//   probe borrows its device, which must outlive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "sync/waiter.h"

namespace tandem {

// When a step ran, on the host's steady clock, where the device's clock can be read in kernels and is comparable.
struct StepTimes {
  double begin_seconds = 0, end_seconds = 0;
};

class SyncProbe {
 public:
  virtual ~SyncProbe() = default;
  // Everything that may be done ahead of the next step: with "gate" queueing it, with "doorbell" starting the kernel.
  virtual void arm() = 0;
  virtual void start() = 0;  // one step; never blocks
  // Returns when the step has ended. predicted_seconds <= 0: unknown.
  virtual sync::WaitReport wait(double predicted_seconds, std::chrono::milliseconds deadline) = 0;
  // `steps` steps, each after the one before it, handed over at once where the policy allows it; returns at the end.
  virtual void chain(int steps, std::chrono::milliseconds deadline) = 0;
  virtual std::optional<StepTimes> last_step() const = 0;  // nothing: no comparable clock
};

}  // namespace tandem
