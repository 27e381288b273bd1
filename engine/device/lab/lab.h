// What is measured and tested of a device beside running programs on it: when its operators ran, what waiting for it
// costs, in which order others see its writes. Running needs none of it (engine/device/device.h).
//
// Contract: obtained from its device (lab_of(), engine/device/device.h), with which it ends. Threads: the
// orchestrator's.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/device/device_info.h"
#include "engine/device/lab/litmus.h"
#include "engine/device/lab/sync_probe.h"

namespace tandem {

class Program;

// Work on the wall clock. A device that can tell operators apart gives a span for each thing it launched of them,
// another one for the whole program.
struct DeviceSpan {
  const Program* program = nullptr;
  double start_seconds = 0, end_seconds = 0;  // steady clock
  int op = -1;                                // index of the operator in the program; -1: the whole program
  bool alone = false;  // launched by itself only because it was measured: otherwise it is a part of a larger launch
};

class DeviceLab {
 public:
  virtual ~DeviceLab() = default;
  // Recording is off at first. It may take some time from what is measured.
  virtual void record_spans(bool on) = 0;
  // Spans measured since the last call, in order of execution; nothing of a device that cannot measure.
  virtual std::vector<DeviceSpan> take_spans() = 0;
  // A waiting policy by itself, with steps of about work_seconds, to measure what waiting costs. Nothing else may be
  // launched while it lives. Error with the reason when the policy is unknown or switched off here.
  virtual std::unique_ptr<SyncProbe> sync_probe(sync::Policy policy, double work_seconds) = 0;
  // A launch and its end, both through the driver, with steps of about work_seconds: for devices on which no policy can
  // be measured alone. A step's line is the device's own memory; reading it back is in no time. The rest as
  // sync_probe().
  virtual std::unique_ptr<SyncProbe> launch_probe(double work_seconds) = 0;
  // A side of memory-ordering litmus tests on this device. Nothing else may be launched while it lives. Error with the
  // reason when its memory is not the host's.
  virtual std::unique_ptr<LitmusAgent> litmus_agent() = 0;
};

// Error: its memory is not the host's, so it can be no side of a litmus test.
[[noreturn]] void refuse_litmus(const DeviceInfo& info);

}  // namespace tandem
