// Submissions that can be made to fail, with either of the two calls (../faults_api.h).
#include <vulkan/vulkan.h>

#include <string_view>

#include "tests/engine/device/faults_api.h"

using tandem::testing::injected;
using tandem::testing::real;

namespace {

// The driver's own function for the one device that a test has open.
PFN_vkQueueSubmit2KHR submit2 = nullptr;

VkResult queue_submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* submits, VkFence fence) {
  if (const auto code = injected("vkQueueSubmit2")) return static_cast<VkResult>(*code);
  return submit2(queue, count, submits, fence);
}

}  // namespace

extern "C" {

VkResult vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  static const auto call = real(&vkQueueSubmit, "vkQueueSubmit");
  if (const auto code = injected("vkQueueSubmit")) return static_cast<VkResult>(*code);
  return call(queue, count, submits, fence);
}

PFN_vkVoidFunction vkGetDeviceProcAddr(VkDevice device, const char* name) {
  static const auto call = real(&vkGetDeviceProcAddr, "vkGetDeviceProcAddr");
  const PFN_vkVoidFunction found = call(device, name);
  if (std::string_view(name) != "vkQueueSubmit2KHR" || !found) return found;
  submit2 = reinterpret_cast<PFN_vkQueueSubmit2KHR>(found);
  return reinterpret_cast<PFN_vkVoidFunction>(&queue_submit2);
}

}  // extern "C"
