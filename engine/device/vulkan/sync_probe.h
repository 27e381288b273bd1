// Probes of a Vulkan device's waiting policies, one policy each (engine/device/lab/sync_probe.h),
// by shaders/sync_probe.comp.
//
// Contract: as SyncProbe. "blocking" waits for a fence. "event" polls a timeline semaphore and then sleeps on it.
// "spin" and "predict" look at a flag that the shader raises in imported memory. "gate" submits ahead behind
// vkCmdWaitEvents(), and vkSetEvent() opens it. Steps have no times, because shaders have no clock that compares with
// the host's. Memory must be shared (prove_zero_copy).
#pragma once

#include <memory>
#include <string_view>

#include "engine/device/lab/sync_probe.h"
#include "engine/device/vulkan/pipelines.h"

namespace tandem::vulkan {

// Error with the reason if the policy does not work on this device.
std::unique_ptr<SyncProbe> make_sync_probe(Handle& handle, Pipelines& pipelines, sync::Policy policy,
                                           double work_seconds);

// A step is a submitted dispatch, whose fence is waited for. Its line is mapped memory of the device, so memory need
// not be shared.
std::unique_ptr<SyncProbe> make_launch_probe(Handle& handle, Pipelines& pipelines, double work_seconds);

}  // namespace tandem::vulkan
