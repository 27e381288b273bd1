// The probes of a device whose queue is served by a thread of this process: the emulated NPU, the host's loops.
//
// Contract: as SyncProbe. What the policies are here: with "blocking" and "event" the host sleeps on the flag's futex
// (event looks for a moment first), with "spin" and "predict" it polls; a step is queued, which wakes the thread. With
// "gate" the step is queued ahead and its thread sleeps on a flag that the host raises. With "doorbell" the thread
// stays awake and polls a word, giving its core away between looks, until kThreadDoorbellIdle has passed without a
// step.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.h"

namespace tandem {

constexpr std::chrono::milliseconds kThreadDoorbellIdle{100};

// The device's queue, as a probe needs it.
struct ThreadQueue {
  std::function<void(std::function<void()>)> push;         // to run on the device's thread, in order; never blocks
  std::function<bool(std::chrono::milliseconds)> drained;  // waits until all has run; false: the time has passed
};

// Error with the reason when a step does not work.
std::unique_ptr<SyncProbe> make_thread_probe(std::string device, ThreadQueue queue, std::string_view policy,
                                             double work_seconds);

// The device's start-up test: steps with every policy, each bounded; what was measured or why not.
std::vector<PolicyTest> test_thread_policies(const std::string& device, const ThreadQueue& queue);

}  // namespace tandem
