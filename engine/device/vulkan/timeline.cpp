#include "engine/device/vulkan/timeline.h"

#include "engine/device/step_waits.h"

namespace tandem::vulkan {
namespace {

// Longest wait of the destructor for work that has ended.
constexpr std::chrono::milliseconds kEnds{20000};

OwnedSemaphore make_semaphore(const Handle& handle) {
  auto type = typed<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  const auto info = typed<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type);
  return make<OwnedSemaphore>(vkCreateSemaphore, handle.device(), info, "vkCreateSemaphore", handle.id());
}

}  // namespace

Timeline::Timeline(const Handle& handle) : handle_(handle), semaphore_(make_semaphore(handle)) {}

Timeline::~Timeline() {
  if (last_ > 0) wait(last_, kEnds);  // errors are ignored: a lost device shows elsewhere
}

bool Timeline::reached(uint64_t value, const std::string& object) const {
  uint64_t now = 0;
  check(vkGetSemaphoreCounterValue(handle_.device(), get(), &now), "vkGetSemaphoreCounterValue", object);
  return now >= value;
}

// VK_TIMEOUT is a result here and no error; the overload below makes an error of it.
VkResult Timeline::wait(uint64_t value, std::chrono::milliseconds deadline) const {
  auto info = typed<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore_.get();
  info.pValues = &value;
  return wait_in_slices(deadline, [&](uint64_t time) { return vkWaitSemaphores(handle_.device(), &info, time); });
}

void Timeline::wait(uint64_t value, std::chrono::milliseconds deadline, const std::string& object) const {
  const VkResult code = wait(value, deadline);
  if (code == VK_TIMEOUT) throw did_not_finish(deadline, object);
  check(code, "vkWaitSemaphores", object);
}

}  // namespace tandem::vulkan
