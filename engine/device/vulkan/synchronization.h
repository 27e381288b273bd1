// What waits for what, said in either of Vulkan's two ways: by VK_KHR_synchronization2 (core in Vulkan 1.3, whose
// drivers list it still), which names exactly the stages and accesses that count, or by the calls of Vulkan 1.0.
//
// Contract: both order the same; callers do not know which one they have. Threads: barrier() and submit() as the
// command buffer's and the queue's: the caller's business.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/device/vulkan/vk.h"

namespace tandem::vulkan {

// Who touches memory: bits.
using Actors = uint32_t;
inline constexpr Actors kShaders = 1, kTransfers = 2, kHost = 4;  // transfers: copies and fills

// Command buffers and what the queue does at their end.
struct Submission {
  std::span<const VkCommandBuffer> commands;
  // Counts to `value` behind the last barrier; or none. That barrier names shaders or transfers beside the host: the
  // host cannot be what a signal follows.
  VkSemaphore timeline = VK_NULL_HANDLE;
  uint64_t value = 0;
};

class Synchronization {
 public:
  virtual ~Synchronization() = default;
  virtual const char* submit_call() const = 0;  // for errors, and to say which way it is
  // What `before` has written so far is visible to `after`, which touches nothing that `before` is still busy with;
  // also across submissions to one queue. The host, only in `after`, reads.
  virtual void barrier(VkCommandBuffer commands, Actors before, Actors after) const = 0;
  virtual VkResult submit(VkQueue queue, const Submission& submission, VkFence fence) const = 0;  // fence: or none
};

// extended: the device was made with VK_KHR_synchronization2.
std::unique_ptr<Synchronization> make_synchronization(VkDevice device, bool extended);

}  // namespace tandem::vulkan
