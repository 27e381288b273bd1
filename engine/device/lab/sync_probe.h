// One waiting policy of one device by itself: a step that the host starts and whose end it learns. For measuring what
// waiting costs, and for the self-tests.
//
// Contract
//   Policies (H7): "blocking" (clFinish, fence, a sleeping thread), "event" (event or timeline semaphore, waited for
//   and polled), "spin" (a flag in shared memory), "predict" (sleep the predicted time, then spin, yield, block),
//   "gate" (work queued ahead behind a gate that the host opens, its end seen as with spin), "doorbell" (a resident
//   kernel or thread that takes work from shared memory, its end seen as with spin); docs/sync.md.
//   A step computes for about work_seconds on the device (calibrated when the probe is made; 0: only the hand-over) and
//   writes a value that wait() checks: a lost, repeated or mixed-up step is an Error, not a short time.
//   Every wait is bounded. Failure: Error naming device, policy and step; probe and device stay usable.
//   While a probe lives, nothing else is launched on its device. Threads: one. Ownership: the probe borrows its device,
//   which must outlive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "sync/waiter.h"

namespace tandem {

// A step on the host's steady clock: the host hands it over, its work begins and ends on the device, the host sees
// that.
struct StepTimes {
  double handed_over_seconds = 0, begin_seconds = 0, end_seconds = 0, seen_seconds = 0;
};

class SyncProbe {
 public:
  virtual ~SyncProbe() = default;
  // Everything that may be done ahead of the next step: with "gate" queueing it, with "doorbell" starting the kernel.
  // May be left out; start() then does it.
  virtual void arm() = 0;
  virtual void start() = 0;  // one step; never blocks
  // Returns when the step has ended. predicted_seconds <= 0: unknown.
  virtual sync::WaitReport wait(double predicted_seconds, std::chrono::milliseconds deadline) = 0;
  // `steps` steps, each after the one before it; returns at the end of the last. With "event" (each command behind the
  // event of the one before), "gate" and "doorbell" they are handed over at once; with the others the host learns of
  // every end before it starts the next.
  virtual void chain(int steps, std::chrono::milliseconds deadline) = 0;
  // Steps write down their times from now on, which costs some tens of nanoseconds each. Off at first.
  virtual void time_steps(bool on) = 0;
  // Of the last step that wait() saw: from its hand-over to the moment its end was seen, on the finest clock there is
  // and without what arming it and checking its result take.
  virtual double round_trip_seconds() const = 0;
  // Of the last step that wait() saw; nothing: not timed, or the device has no clock that is comparable with the
  // host's.
  virtual std::optional<StepTimes> last_step() const = 0;
};

}  // namespace tandem
