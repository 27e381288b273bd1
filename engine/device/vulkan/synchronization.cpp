#include "engine/device/vulkan/synchronization.h"

#include <vector>

#include "sync/error.h"

namespace tandem::vulkan {
namespace {

// The calls of Vulkan 1.0, with the timeline's value in an extra structure.
class Older final : public Synchronization {
 public:
  const char* submit_call() const override { return "vkQueueSubmit"; }

  // Makes writes in front of the barrier available, and visible to accesses behind it. The host's own writes need no
  // barrier, because a submission makes them visible.
  void barrier(VkCommandBuffer commands, Actors before, Actors after) const override {
    auto barrier = typed<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    if (before & kShaders) barrier.srcAccessMask |= VK_ACCESS_SHADER_WRITE_BIT;
    if (before & kTransfers) barrier.srcAccessMask |= VK_ACCESS_TRANSFER_WRITE_BIT;
    if (after & kShaders) barrier.dstAccessMask |= VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    if (after & kTransfers) barrier.dstAccessMask |= VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    if (after & kHost) barrier.dstAccessMask |= VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commands, stages(before), stages(after), 0, 1, &barrier, 0, nullptr, 0, nullptr);
  }

  VkResult submit(VkQueue queue, const Submission& submission, VkFence fence) const override {
    auto values = typed<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &submission.value;
    const bool counts = submission.timeline != VK_NULL_HANDLE;
    // Without a timeline the structure with its value is left out.
    auto info = typed<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO, counts ? &values : nullptr);
    info.commandBufferCount = static_cast<uint32_t>(submission.commands.size());
    info.pCommandBuffers = submission.commands.data();
    info.signalSemaphoreCount = counts ? 1 : 0;
    info.pSignalSemaphores = &submission.timeline;
    return vkQueueSubmit(queue, 1, &info, fence);
  }

 private:
  static VkPipelineStageFlags stages(Actors actors) {
    VkPipelineStageFlags all = 0;
    if (actors & kShaders) all |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    if (actors & kTransfers) all |= VK_PIPELINE_STAGE_TRANSFER_BIT;
    if (actors & kHost) all |= VK_PIPELINE_STAGE_HOST_BIT;
    return all;
  }
};

// The calls of VK_KHR_synchronization2, whose functions come from the device.
class Extended final : public Synchronization {
 public:
  explicit Extended(VkDevice device)
      : barrier_(function<PFN_vkCmdPipelineBarrier2KHR>(device, "vkCmdPipelineBarrier2KHR")),
        submit_(function<PFN_vkQueueSubmit2KHR>(device, "vkQueueSubmit2KHR")) {}

  const char* submit_call() const override { return "vkQueueSubmit2"; }

  // The same barrier, with a narrower access of shaders: they use storage buffers alone.
  void barrier(VkCommandBuffer commands, Actors before, Actors after) const override {
    auto barrier = typed<VkMemoryBarrier2>(VK_STRUCTURE_TYPE_MEMORY_BARRIER_2);
    barrier.srcStageMask = stages(before);
    barrier.dstStageMask = stages(after);
    if (before & kShaders) barrier.srcAccessMask |= VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
    if (before & kTransfers) barrier.srcAccessMask |= VK_ACCESS_2_TRANSFER_WRITE_BIT;
    if (after & kShaders)
      barrier.dstAccessMask |= VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT;
    if (after & kTransfers) barrier.dstAccessMask |= VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
    if (after & kHost) barrier.dstAccessMask |= VK_ACCESS_2_HOST_READ_BIT;
    auto info = typed<VkDependencyInfo>(VK_STRUCTURE_TYPE_DEPENDENCY_INFO);
    info.memoryBarrierCount = 1;
    info.pMemoryBarriers = &barrier;
    barrier_(commands, &info);
  }

  VkResult submit(VkQueue queue, const Submission& submission, VkFence fence) const override {
    std::vector<VkCommandBufferSubmitInfo> commands;
    for (const VkCommandBuffer each : submission.commands) {
      commands.push_back(typed<VkCommandBufferSubmitInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO));
      commands.back().commandBuffer = each;
    }
    auto signal = typed<VkSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO);
    signal.semaphore = submission.timeline;
    signal.value = submission.value;
    // The signal follows the last barrier, which names shaders or transfers.
    signal.stageMask = stages(kShaders | kTransfers);
    auto info = typed<VkSubmitInfo2>(VK_STRUCTURE_TYPE_SUBMIT_INFO_2);
    info.commandBufferInfoCount = static_cast<uint32_t>(commands.size());
    info.pCommandBufferInfos = commands.data();
    info.signalSemaphoreInfoCount = submission.timeline != VK_NULL_HANDLE ? 1 : 0;
    info.pSignalSemaphoreInfos = &signal;
    return submit_(queue, 1, &info, fence);
  }

 private:
  template <typename Function>
  static Function function(VkDevice device, const char* name) {
    const auto found = reinterpret_cast<Function>(vkGetDeviceProcAddr(device, name));
    if (!found) throw Error("the driver lists VK_KHR_synchronization2 but lacks a function of it", name);
    return found;
  }
  static VkPipelineStageFlags2 stages(Actors actors) {
    VkPipelineStageFlags2 all = 0;
    if (actors & kShaders) all |= VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    if (actors & kTransfers) all |= VK_PIPELINE_STAGE_2_COPY_BIT | VK_PIPELINE_STAGE_2_CLEAR_BIT;
    if (actors & kHost) all |= VK_PIPELINE_STAGE_2_HOST_BIT;
    return all;
  }

  PFN_vkCmdPipelineBarrier2KHR barrier_;
  PFN_vkQueueSubmit2KHR submit_;
};

}  // namespace

std::unique_ptr<Synchronization> make_synchronization(VkDevice device, bool extended) {
  if (extended) return std::make_unique<Extended>(device);
  return std::make_unique<Older>();
}

}  // namespace tandem::vulkan
