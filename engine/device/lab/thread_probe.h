// The probes of a device that works on a thread of this process (engine/device/thread_device.h).
//
// Contract: as SyncProbe. With "blocking" and "event", the host sleeps on the flag's futex (event looks for a moment
// first). With "spin" and "predict", the host polls. In all four, a step is queued, which wakes the thread. With
// "gate", the step is queued ahead, and its thread sleeps on a flag that the host raises. With "doorbell", the thread
// stays awake and polls a word, and it yields its core between looks. It ends when kThreadDoorbellIdle has passed
// without a step.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device_info.h"
#include "engine/device/lab/sync_probe.h"
#include "sync/worker.h"

namespace tandem {

constexpr std::chrono::milliseconds kThreadDoorbellIdle{100};

// Error with the reason when a step does not work.
std::unique_ptr<SyncProbe> make_thread_probe(std::string device, sync::Worker& thread, sync::Policy policy,
                                             double work_seconds);

// The device's start-up test: one step with every policy, each with a bound. The result says what was measured, or why
// the policy failed.
std::vector<PolicyTest> test_thread_policies(const std::string& device, sync::Worker& thread);

}  // namespace tandem
