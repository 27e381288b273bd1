// The waiting policies of an OpenCL device, each by itself (engine/device/lab/sync_probe.h).
//
// Contract: as SyncProbe. A probe has a queue, memory and gates of its own; the device's other queues must be idle.
// "doorbell" keeps one worker of a CPU device busy from arm() on, until kDoorbellIdle has passed without a step.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "engine/device/lab/sync_probe.h"
#include "engine/device/opencl/program_cache.h"

namespace tandem::opencl {

constexpr std::chrono::milliseconds kDoorbellIdle{100};

// Error with the reason when the policy does not work on this device. Memory must be shared (prove_zero_copy).
std::unique_ptr<SyncProbe> make_sync_probe(ProgramCache& programs, uint64_t max_allocation_bytes, sync::Policy policy,
                                           double work_seconds);

// A kernel is launched and clFinish returns; its line is a buffer of the device. Whatever memory is shared.
std::unique_ptr<SyncProbe> make_launch_probe(ProgramCache& programs, uint64_t max_allocation_bytes,
                                             double work_seconds);

}  // namespace tandem::opencl
