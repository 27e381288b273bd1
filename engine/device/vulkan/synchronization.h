// Barriers and submissions, in either of Vulkan's two ways. VK_KHR_synchronization2 names exactly the stages and
// accesses that count; drivers of Vulkan 1.3 have it in the core and still list it. The other way is the calls of
// Vulkan 1.0.
//
// Contract: both ways give the same order, and callers do not know which one they have. Threads: a command buffer and a
// queue belong to one thread at a time, which the caller ensures.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/device/vulkan/vk.h"

namespace tandem::vulkan {

// The parts of the machine that touch memory, as bits. Transfers are copies and fills.
using Actors = uint32_t;
inline constexpr Actors kShaders = 1, kTransfers = 2, kHost = 4;

// Command buffers, and the signal that the queue gives at their end.
struct Submission {
  std::span<const VkCommandBuffer> commands;
  // Counts to `value` behind the last barrier; VK_NULL_HANDLE: no signal. The last barrier must name shaders or
  // transfers besides the host, since a signal cannot follow the host.
  VkSemaphore timeline = VK_NULL_HANDLE;
  uint64_t value = 0;
};

class Synchronization {
 public:
  virtual ~Synchronization() = default;
  virtual const char* submit_call() const = 0;  // for errors, and to show which way is used
  // Makes everything that `before` has written so far visible to `after`. `after` touches nothing that `before` still
  // uses. The order also holds across submissions to one queue. The host can only be in `after`, and reads.
  virtual void barrier(VkCommandBuffer commands, Actors before, Actors after) const = 0;
  // fence: may be VK_NULL_HANDLE.
  virtual VkResult submit(VkQueue queue, const Submission& submission, VkFence fence) const = 0;
};

// extended: the device was made with VK_KHR_synchronization2.
std::unique_ptr<Synchronization> make_synchronization(VkDevice device, bool extended);

}  // namespace tandem::vulkan
