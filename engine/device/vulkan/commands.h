// Recording and submitting command buffers.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "engine/device/vulkan/handle.h"

namespace tandem::vulkan {

// Everything written by shaders, copies and fills so far is visible to every shader, copy and host read that follows,
// also in command buffers submitted later.
void full_barrier(const Handle& handle, VkCommandBuffer commands);

OwnedCommandPool make_command_pool(const Handle& handle, const std::string& object);
VkCommandBuffer allocate_commands(const Handle& handle, VkCommandPool pool, const std::string& object);  // of the pool

// Records, submits and waits; Error when the device does not end within the deadline.
void run_now(Handle& handle, const std::string& object, std::chrono::milliseconds deadline,
             const std::function<void(VkCommandBuffer)>& record);

}  // namespace tandem::vulkan
