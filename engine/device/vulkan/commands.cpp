#include "engine/device/vulkan/commands.h"

#include "sync/error.h"

namespace tandem::vulkan {

// Later shaders and copies see everything that earlier ones wrote, and so does the host after the end.
void full_barrier(const Handle& handle, VkCommandBuffer commands) {
  handle.synchronization().barrier(commands, kShaders | kTransfers, kShaders | kTransfers | kHost);
}

OwnedCommandPool make_command_pool(const Handle& handle, const std::string& object) {
  auto info = typed<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  info.queueFamilyIndex = handle.queue_family();
  return make<OwnedCommandPool>(vkCreateCommandPool, handle.device(), info, "vkCreateCommandPool", object);
}

// The pool owns the command buffer and frees it at its own end.
VkCommandBuffer allocate_commands(const Handle& handle, VkCommandPool pool, const std::string& object) {
  auto info = typed<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(handle.device(), &info, &commands), "vkAllocateCommandBuffers", object);
  return commands;
}

// Makes a pool, a command buffer and a fence for this one submission. After a time-out it waits until the device is
// idle, because the pool may not be destroyed earlier.
void run_now(Handle& handle, const std::string& object, std::chrono::milliseconds deadline,
             const std::function<void(VkCommandBuffer)>& record) {
  const OwnedCommandPool pool = make_command_pool(handle, object);
  const VkCommandBuffer commands = allocate_commands(handle, pool.get(), object);
  auto begin = typed<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer", object);
  record(commands);
  full_barrier(handle, commands);
  check(vkEndCommandBuffer(commands), "vkEndCommandBuffer", object);
  const auto fence_info = typed<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  const auto fence = make<OwnedFence>(vkCreateFence, handle.device(), fence_info, "vkCreateFence", object);
  handle.submit({{&commands, 1}}, fence.get(), object);
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline).count();
  const VkResult code = vkWaitForFences(handle.device(), 1, &fence.get(), VK_TRUE, static_cast<uint64_t>(nanoseconds));
  if (code == VK_TIMEOUT) vkDeviceWaitIdle(handle.device());  // recorded commands must outlive their execution
  check(code, "vkWaitForFences", object);
}

}  // namespace tandem::vulkan
