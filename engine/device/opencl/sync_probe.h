// Probes of an OpenCL device's waiting policies, one policy each (engine/device/lab/sync_probe.h).
//
// Contract: as SyncProbe. A probe has its own queue, memory and gates, and the device's other queues must be idle. The
// "doorbell" probe keeps one worker of a CPU device busy from arm() on, until kDoorbellIdle has passed without a step.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "engine/device/lab/sync_probe.h"
#include "engine/device/opencl/program_cache.h"

namespace tandem::opencl {

constexpr std::chrono::milliseconds kDoorbellIdle{100};

// Error with the reason if the policy does not work on this device. Memory must be shared (prove_zero_copy).
std::unique_ptr<SyncProbe> make_sync_probe(ProgramCache& programs, uint64_t max_allocation_bytes, sync::Policy policy,
                                           double work_seconds);

// A step is a launched kernel whose end clFinish() reports. Its line is a buffer of the device, so memory need not
// be shared.
std::unique_ptr<SyncProbe> make_launch_probe(ProgramCache& programs, uint64_t max_allocation_bytes,
                                             double work_seconds);

}  // namespace tandem::opencl
