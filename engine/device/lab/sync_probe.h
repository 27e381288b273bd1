// A probe of one waiting policy of one device.
//
// The host starts a step and learns of its end. Probes measure the cost of waiting and serve the self-tests.
//
// Contract
//   Policies (H7, docs/sync.md):
//     "blocking"   clFinish, a fence, or a sleeping thread.
//     "event"      an event or timeline semaphore, waited for and polled.
//     "spin"       a flag in shared memory.
//     "predict"    sleep for the predicted time, then spin, yield, block.
//     "gate"       work is queued ahead behind a gate that the host opens; its end is seen as with spin.
//     "doorbell"   a resident kernel or thread takes work from shared memory; its end is seen as with spin.
//   A step computes for about work_seconds on the device (calibrated when the probe is made; 0: only the hand-over). It
//   writes a value that wait() checks: a lost, repeated or mixed-up step is an Error, not a short time.
//   Every wait has a bound. Failure: Error names device, policy and step; the probe and the device stay usable.
//   Nothing else is launched on its device while a probe lives. Threads: one. Ownership: the probe borrows its device,
//   which must outlive it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "sync/waiter.h"

namespace tandem {

// Moments of a step on the host's steady clock: the host hands it over, its work begins and ends on the device, the
// host sees the end.
struct StepTimes {
  double handed_over_seconds = 0, begin_seconds = 0, end_seconds = 0, seen_seconds = 0;
};

class SyncProbe {
 public:
  virtual ~SyncProbe() = default;
  // Does everything that may be done ahead of the next step: "gate" queues it, "doorbell" starts the kernel. The call
  // is optional: start() does it otherwise.
  virtual void arm() = 0;
  virtual void start() = 0;  // starts one step; never blocks
  // Returns when the step has ended. predicted_seconds <= 0: unknown.
  virtual sync::WaitReport wait(double predicted_seconds, std::chrono::milliseconds deadline) = 0;
  // Runs `steps` steps, each after the one before it, and returns at the end of the last. "event" (each command behind
  // the event of the one before), "gate" and "doorbell" hand all steps over at once. With the other policies, the host
  // sees every end before it starts the next step.
  virtual void chain(int steps, std::chrono::milliseconds deadline) = 0;
  // From now on steps record their times, which costs some tens of nanoseconds each. Off at first.
  virtual void time_steps(bool on) = 0;
  // Seconds of the last step that wait() saw, from its hand-over to the moment when its end was seen. It uses the
  // finest available clock. Arming the step and checking its result do not count.
  virtual double round_trip_seconds() const = 0;
  // The times of the last step that wait() saw. Nothing: the step was not timed, or the device's clock cannot be
  // compared with the host's.
  virtual std::optional<StepTimes> last_step() const = 0;
};

}  // namespace tandem
