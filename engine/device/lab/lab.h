// A device's interface for measurements and tests.
//
// It shows when the device's operators ran, what waiting for it costs, and in which order others see its writes.
// Running programs needs none of it (engine/device/device.h).
//
// Contract: a device returns its lab (lab_of(), engine/device/device.h), which lives as long as the device. Threads:
// the orchestrator's.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/device/device_info.h"
#include "engine/device/lab/litmus.h"
#include "engine/device/lab/sync_probe.h"

namespace tandem {

class Program;

// A span of work on the wall clock. A device that can tell operators apart gives a span for each launch of an operator.
// Other devices give one span for the whole program.
struct DeviceSpan {
  const Program* program = nullptr;
  double start_seconds = 0, end_seconds = 0;  // steady clock
  int op = -1;                                // index of the operator in the program; -1: the whole program
  bool alone = false;  // launched by itself only because spans are recorded; otherwise it is part of a larger launch
};

class DeviceLab {
 public:
  virtual ~DeviceLab() = default;
  // Recording is off at first. It may slow the measured work.
  virtual void record_spans(bool on) = 0;
  // Spans measured since the last call, in order of execution; empty for a device that cannot measure.
  virtual std::vector<DeviceSpan> take_spans() = 0;
  // Runs a waiting policy by itself, with steps of about work_seconds, to measure the cost of waiting. Nothing else may
  // be launched while the probe lives. Error with the reason when the policy is unknown or switched off here.
  virtual std::unique_ptr<SyncProbe> sync_probe(sync::Policy policy, double work_seconds) = 0;
  // Measures a launch and its end through the driver, with steps of about work_seconds, for devices on which no policy
  // can be measured alone. A step's line is in the device's own memory, and reading it back does not count as time.
  // Otherwise as sync_probe().
  virtual std::unique_ptr<SyncProbe> launch_probe(double work_seconds) = 0;
  // Runs a side of memory-ordering litmus tests on this device. Nothing else may be launched while the agent lives.
  // Error with the reason when the device's memory is not the host's.
  virtual std::unique_ptr<LitmusAgent> litmus_agent() = 0;
  // Bytes that launches have copied between the host's memory and the device's, besides weights. It is 0 if memory is
  // shared, because then nothing is copied.
  virtual uint64_t copied_bytes() const { return 0; }
  // Launches of kernels that one launch of this program makes, besides copies; 0: the device has no kernels.
  virtual size_t kernel_launches(const Program& program) const {
    static_cast<void>(program);
    return 0;
  }
};

// Throws Error: the device's memory is not the host's, so it cannot be a side of a litmus test.
[[noreturn]] void refuse_litmus(const DeviceInfo& info);

}  // namespace tandem
