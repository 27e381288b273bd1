#include "tests/engine/device/vulkan/lifetime_api.h"

#include <vulkan/vulkan.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "tests/engine/device/faults_api.h"

using tandem::testing::real;

#define REAL(name) static const auto call = real(&name, #name)

namespace tandem::testing {
namespace {

struct Submitted {
  std::vector<VkCommandPool> pools;
  VkFence fence = VK_NULL_HANDLE;
  VkSemaphore semaphore = VK_NULL_HANDLE;
  uint64_t value = 0;
  bool fence_told = false, semaphore_told = false;
};

struct State {
  std::mutex mutex;
  std::condition_variable released;
  std::map<VkCommandBuffer, VkCommandPool> pools;
  std::vector<Submitted> submitted;  // submissions until the host has seen their end by fence and by semaphore
  std::vector<std::string> early;
  size_t count = 0;
  bool held = false;
};
State& state() {
  static State one;
  return one;
}

void forget_ended(State& all) {
  std::erase_if(all.submitted, [](const Submitted& one) {
    return (one.fence == VK_NULL_HANDLE || one.fence_told) && (one.semaphore == VK_NULL_HANDLE || one.semaphore_told);
  });
}

// The work of a submission has ended when its fence or its semaphore says so. Only the semaphore itself stays in use
// for longer.
bool runs(const Submitted& one) { return !one.fence_told && !one.semaphore_told; }

void add(std::span<const VkCommandBuffer> commands, VkSemaphore semaphore, uint64_t value, VkFence fence) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  Submitted one{{}, fence, semaphore, value};
  for (const VkCommandBuffer each : commands) {
    const auto pool = all.pools.find(each);
    if (pool == all.pools.end()) {
      all.early.emplace_back("commands were submitted whose pool had been destroyed");
    } else {
      one.pools.push_back(pool->second);
    }
  }
  if (fence == VK_NULL_HANDLE && semaphore == VK_NULL_HANDLE) return;
  all.submitted.push_back(std::move(one));
  ++all.count;
}

void signalled(VkSemaphore semaphore, uint64_t value) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  for (Submitted& one : all.submitted) one.semaphore_told |= one.semaphore == semaphore && one.value <= value;
  forget_ended(all);
}

void signalled(VkFence fence) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  for (Submitted& one : all.submitted) one.fence_told |= one.fence == fence;
  forget_ended(all);
}

// Whether the host may see ends within so many nanoseconds.
bool released_within(uint64_t timeout) {
  const std::chrono::nanoseconds limit(std::min<uint64_t>(timeout, 600'000'000'000));
  std::unique_lock lock(state().mutex);
  return state().released.wait_for(lock, limit, [] { return !state().held; });
}

bool held() {
  std::lock_guard lock(state().mutex);
  return state().held;
}

// Notes an object that is destroyed while a submission uses it. Then forgets the submission, because a new object may
// get the same handle.
template <typename Uses>
void destroyed(const char* what, const Uses& uses) {
  State& all = state();
  std::lock_guard lock(all.mutex);
  if (std::ranges::any_of(all.submitted, uses)) all.early.emplace_back(std::string(what) + " was destroyed in use");
  std::erase_if(all.submitted, uses);
}

PFN_vkQueueSubmit2KHR submit2 = nullptr;  // the driver's own function for the one device that a test has open

VkResult queue_submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* submits, VkFence fence) {
  for (const VkSubmitInfo2& each : std::span(submits, count)) {
    std::vector<VkCommandBuffer> commands;
    for (const auto& info : std::span(each.pCommandBufferInfos, each.commandBufferInfoCount))
      commands.push_back(info.commandBuffer);
    const bool signals = each.signalSemaphoreInfoCount > 0;
    add(commands, signals ? each.pSignalSemaphoreInfos->semaphore : VK_NULL_HANDLE,
        signals ? each.pSignalSemaphoreInfos->value : 0, fence);
  }
  return submit2(queue, count, submits, fence);
}

}  // namespace

std::vector<std::string> take_early_ends() {
  std::lock_guard lock(state().mutex);
  return std::exchange(state().early, {});
}

size_t submissions() {
  std::lock_guard lock(state().mutex);
  return state().count;
}

HeldEnds::HeldEnds() {
  std::lock_guard lock(state().mutex);
  state().held = true;
}

HeldEnds::~HeldEnds() {
  {
    std::lock_guard lock(state().mutex);
    state().held = false;
  }
  state().released.notify_all();
}

}  // namespace tandem::testing

using namespace tandem::testing;

extern "C" {

VkResult vkAllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* commands) {
  REAL(vkAllocateCommandBuffers);
  const VkResult done = call(device, info, commands);
  std::lock_guard lock(state().mutex);
  for (uint32_t i = 0; done == VK_SUCCESS && i < info->commandBufferCount; ++i)
    state().pools[commands[i]] = info->commandPool;
  return done;
}

void vkDestroyCommandPool(VkDevice device, VkCommandPool pool, const VkAllocationCallbacks* callbacks) {
  REAL(vkDestroyCommandPool);
  destroyed("a command pool",
            [&](const Submitted& one) { return runs(one) && std::ranges::find(one.pools, pool) != one.pools.end(); });
  {
    std::lock_guard lock(state().mutex);
    std::erase_if(state().pools, [&](const auto& entry) { return entry.second == pool; });
  }
  call(device, pool, callbacks);
}

void vkDestroyFence(VkDevice device, VkFence fence, const VkAllocationCallbacks* callbacks) {
  REAL(vkDestroyFence);
  destroyed("a fence", [&](const Submitted& one) { return runs(one) && one.fence == fence; });
  signalled(fence);
  call(device, fence, callbacks);
}

void vkDestroySemaphore(VkDevice device, VkSemaphore semaphore, const VkAllocationCallbacks* callbacks) {
  REAL(vkDestroySemaphore);
  destroyed("a semaphore", [&](const Submitted& one) { return one.semaphore == semaphore && !one.semaphore_told; });
  call(device, semaphore, callbacks);
}

VkResult vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  REAL(vkQueueSubmit);
  for (const VkSubmitInfo& each : std::span(submits, count)) {
    const auto* values = static_cast<const VkTimelineSemaphoreSubmitInfo*>(each.pNext);
    const bool signals = each.signalSemaphoreCount > 0 && values != nullptr;
    add({each.pCommandBuffers, each.commandBufferCount}, signals ? *each.pSignalSemaphores : VK_NULL_HANDLE,
        signals ? *values->pSignalSemaphoreValues : 0, fence);
  }
  return call(queue, count, submits, fence);
}

PFN_vkVoidFunction vkGetDeviceProcAddr(VkDevice device, const char* name) {
  REAL(vkGetDeviceProcAddr);
  const PFN_vkVoidFunction found = call(device, name);
  if (std::string_view(name) != "vkQueueSubmit2KHR" || !found) return found;
  submit2 = reinterpret_cast<PFN_vkQueueSubmit2KHR>(found);
  return reinterpret_cast<PFN_vkVoidFunction>(&queue_submit2);
}

VkResult vkDeviceWaitIdle(VkDevice device) {
  REAL(vkDeviceWaitIdle);
  const VkResult done = call(device);
  std::lock_guard lock(state().mutex);
  if (done == VK_SUCCESS) state().submitted.clear();
  return done;
}

VkResult vkWaitForFences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t timeout) {
  REAL(vkWaitForFences);
  if (!released_within(timeout)) return VK_TIMEOUT;
  const VkResult done = call(device, count, fences, all, timeout);
  for (uint32_t i = 0; done == VK_SUCCESS && i < count; ++i) signalled(fences[i]);
  return done;
}

VkResult vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
  REAL(vkWaitSemaphores);
  if (!released_within(timeout)) return VK_TIMEOUT;
  const VkResult done = call(device, info, timeout);
  for (uint32_t i = 0; done == VK_SUCCESS && i < info->semaphoreCount; ++i)
    signalled(info->pSemaphores[i], info->pValues[i]);
  return done;
}

VkResult vkGetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore, uint64_t* value) {
  REAL(vkGetSemaphoreCounterValue);
  if (held()) {
    *value = 0;
    return VK_SUCCESS;
  }
  const VkResult done = call(device, semaphore, value);
  if (done == VK_SUCCESS) signalled(semaphore, *value);
  return done;
}

}  // extern "C"
