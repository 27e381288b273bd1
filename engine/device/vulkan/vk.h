// Vulkan's C interface as this project uses it: the check() that every call goes through, and owners of
// Vulkan's objects.
//
// Contract: check() throws tandem::Error with the call, the code and the object. Owned<> destroys its object with the
// device it was made on, which must still exist.
#pragma once

#include <vulkan/vulkan.h>

#include <string>
#include <utility>

namespace tandem::vulkan {

std::string code_name(VkResult code);  // "VK_ERROR_DEVICE_LOST"; unknown ones as "code -123"
void check(VkResult code, const char* call, const std::string& object);

// A Vulkan structure with its type and its chain; all other members are zero.
template <typename Structure>
Structure typed(VkStructureType type, const void* next = nullptr) {
  Structure made{};
  made.sType = type;
  made.pNext = const_cast<void*>(next);  // some chains are const and some are not; Vulkan does not write to const ones
  return made;
}

template <typename Object, void (*destroy)(VkDevice, Object, const VkAllocationCallbacks*)>
class Owned {
 public:
  Owned() = default;
  Owned(VkDevice device, Object object) : device_(device), object_(object) {}
  Owned(Owned&& other) noexcept : device_(other.device_), object_(std::exchange(other.object_, VK_NULL_HANDLE)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_ != VK_NULL_HANDLE) destroy(device_, object_, nullptr);
  }
  const Object& get() const { return object_; }
  explicit operator bool() const { return object_ != VK_NULL_HANDLE; }

 private:
  VkDevice device_ = VK_NULL_HANDLE;
  Object object_ = VK_NULL_HANDLE;
};

using OwnedBuffer = Owned<VkBuffer, vkDestroyBuffer>;
using OwnedMemory = Owned<VkDeviceMemory, vkFreeMemory>;
using OwnedShaderModule = Owned<VkShaderModule, vkDestroyShaderModule>;
using OwnedPipeline = Owned<VkPipeline, vkDestroyPipeline>;
using OwnedPipelineLayout = Owned<VkPipelineLayout, vkDestroyPipelineLayout>;
using OwnedPipelineCache = Owned<VkPipelineCache, vkDestroyPipelineCache>;
using OwnedSetLayout = Owned<VkDescriptorSetLayout, vkDestroyDescriptorSetLayout>;
using OwnedDescriptorPool = Owned<VkDescriptorPool, vkDestroyDescriptorPool>;
using OwnedCommandPool = Owned<VkCommandPool, vkDestroyCommandPool>;
using OwnedSemaphore = Owned<VkSemaphore, vkDestroySemaphore>;
using OwnedFence = Owned<VkFence, vkDestroyFence>;
using OwnedQueryPool = Owned<VkQueryPool, vkDestroyQueryPool>;

// Creates an object and its owner: make<OwnedFence>(vkCreateFence, device, info, "vkCreateFence", object).
template <typename Owner, typename Object, typename Info>
Owner make(VkResult (*create)(VkDevice, const Info*, const VkAllocationCallbacks*, Object*), VkDevice device,
           const Info& info, const char* call, const std::string& object) {
  Object made = VK_NULL_HANDLE;
  check(create(device, &info, nullptr, &made), call, object);
  return Owner(device, made);
}

}  // namespace tandem::vulkan
