// Records and submits command buffers.
//
// Contract: object: the subject of errors. Error when a call fails. Threads: one for each pool and its command buffers.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "engine/device/vulkan/handle.h"

namespace tandem::vulkan {

// A barrier after which all shaders, copies and host reads see everything that shaders, copies and fills have written
// so far. It also covers command buffers that are submitted later.
void full_barrier(const Handle& handle, VkCommandBuffer commands);

OwnedCommandPool make_command_pool(const Handle& handle, const std::string& object);
// The pool owns the command buffer.
VkCommandBuffer allocate_commands(const Handle& handle, VkCommandPool pool, const std::string& object);

// Records commands, submits them and waits for their end. Error when the device does not end within the deadline.
void run_now(Handle& handle, const std::string& object, std::chrono::milliseconds deadline,
             const std::function<void(VkCommandBuffer)>& record);

}  // namespace tandem::vulkan
