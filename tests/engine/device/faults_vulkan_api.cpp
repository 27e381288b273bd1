// Vulkan functions that can be made to fail (faults_api.h).
#include <vulkan/vulkan.h>

#include "tests/engine/device/faults_api.h"

using tandem::testing::injected;
using tandem::testing::real;

#define REAL(name) static const auto call = real(&name, #name)

extern "C" {

VkResult vkEnumeratePhysicalDevices(VkInstance instance, uint32_t* count, VkPhysicalDevice* devices) {
  REAL(vkEnumeratePhysicalDevices);
  if (const auto code = injected("vkEnumeratePhysicalDevices")) return static_cast<VkResult>(*code);
  return call(instance, count, devices);
}

VkResult vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  REAL(vkQueueSubmit);
  if (const auto code = injected("vkQueueSubmit")) return static_cast<VkResult>(*code);
  return call(queue, count, submits, fence);
}

VkResult vkWaitForFences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all, uint64_t timeout) {
  REAL(vkWaitForFences);
  const VkResult done = call(device, count, fences, all, timeout);  // the submitted work ends all the same
  if (const auto code = injected("vkWaitForFences")) return static_cast<VkResult>(*code);
  return done;
}

VkResult vkWaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
  REAL(vkWaitSemaphores);
  const VkResult done = call(device, info, timeout);
  if (const auto code = injected("vkWaitSemaphores")) return static_cast<VkResult>(*code);
  return done;
}

// VK_NOT_READY: the semaphore's counter has not changed.
VkResult vkGetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore, uint64_t* value) {
  REAL(vkGetSemaphoreCounterValue);
  const auto code = injected("vkGetSemaphoreCounterValue");
  if (code && *code == VK_NOT_READY) {
    *value = 0;
    return VK_SUCCESS;
  }
  if (code) return static_cast<VkResult>(*code);
  return call(device, semaphore, value);
}

VkResult vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
                          VkDeviceMemory* memory) {
  REAL(vkAllocateMemory);
  if (const auto code = injected("vkAllocateMemory")) return static_cast<VkResult>(*code);
  return call(device, info, callbacks, memory);
}

VkResult vkCreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                  const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* callbacks,
                                  VkPipeline* pipelines) {
  REAL(vkCreateComputePipelines);
  if (const auto code = injected("vkCreateComputePipelines")) return static_cast<VkResult>(*code);
  return call(device, cache, count, infos, callbacks, pipelines);
}

void vkGetPhysicalDeviceProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
  REAL(vkGetPhysicalDeviceProperties2);
  call(device, properties);
  for (auto* next = static_cast<VkBaseOutStructure*>(properties->pNext); next; next = next->pNext) {
    if (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES) continue;
    if (const auto bytes = injected("vkGetPhysicalDeviceProperties2"))  // a device with little memory
      reinterpret_cast<VkPhysicalDeviceMaintenance3Properties*>(next)->maxMemoryAllocationSize =
          static_cast<VkDeviceSize>(*bytes);
  }
}

}  // extern "C"
