// The waiting policies of a Vulkan device, each by itself (engine/device/lab/sync_probe.h), with
// shaders/sync_probe.comp.
//
// Contract: as SyncProbe. "blocking" waits for a fence, "event" polls a timeline semaphore and then sleeps on it,
// "spin" and "predict" look at a flag that the shader raises in imported memory, "gate" submits ahead behind
// vkCmdWaitEvents, which vkSetEvent lets go. Steps have no times: shaders have no clock that compares with the host's.
// Memory must be shared (prove_zero_copy).
#pragma once

#include <memory>
#include <string_view>

#include "engine/device/lab/sync_probe.h"
#include "engine/device/vulkan/pipelines.h"

namespace tandem::vulkan {

// Error with the reason when the policy does not work on this device.
std::unique_ptr<SyncProbe> make_sync_probe(Handle& handle, Pipelines& pipelines, sync::Policy policy,
                                           double work_seconds);

// A dispatch is submitted and its fence waited for; its line is mapped memory of the device. Whatever memory is shared.
std::unique_ptr<SyncProbe> make_launch_probe(Handle& handle, Pipelines& pipelines, double work_seconds);

}  // namespace tandem::vulkan
