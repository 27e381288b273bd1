// Exits with status 0 if a Vulkan 1.2 device on this machine runs a command buffer. With the argument "validation" it
// exits with 0 if the validation layers are installed. `./dev setup` compiles and runs this.
#include <vulkan/vulkan.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

// Version 1.2 is what the program needs, so a loader that is older counts as none.
VkInstance open_instance() {
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = VK_API_VERSION_1_2;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  VkInstance instance = VK_NULL_HANDLE;
  return vkCreateInstance(&info, nullptr, &instance) == VK_SUCCESS ? instance : VK_NULL_HANDLE;
}

// Runs an empty submission to its end. The process is about to end too, so nothing is destroyed.
bool runs_commands(VkPhysicalDevice physical) {
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(physical, &properties);
  if (properties.apiVersion < VK_API_VERSION_1_2) return false;
  uint32_t families = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &families, nullptr);
  std::vector<VkQueueFamilyProperties> family(families);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &families, family.data());
  const float priority = 1;
  VkDeviceQueueCreateInfo queue_info{};
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  while (queue_info.queueFamilyIndex < families &&
         !(family[queue_info.queueFamilyIndex].queueFlags & VK_QUEUE_COMPUTE_BIT))
    ++queue_info.queueFamilyIndex;
  if (queue_info.queueFamilyIndex == families) return false;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue_info;
  VkDevice device = VK_NULL_HANDLE;
  if (vkCreateDevice(physical, &info, nullptr, &device) != VK_SUCCESS) return false;
  VkQueue queue = VK_NULL_HANDLE;
  vkGetDeviceQueue(device, queue_info.queueFamilyIndex, 0, &queue);
  VkFenceCreateInfo fence_info{};
  fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  VkFence fence = VK_NULL_HANDLE;
  constexpr uint64_t kSeconds = 10'000'000'000;
  return vkCreateFence(device, &fence_info, nullptr, &fence) == VK_SUCCESS &&
         vkQueueSubmit(queue, 0, nullptr, fence) == VK_SUCCESS &&
         vkWaitForFences(device, 1, &fence, VK_TRUE, kSeconds) == VK_SUCCESS;
}

bool has_validation_layers() {
  uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  for (const VkLayerProperties& layer : layers) {
    if (std::strcmp(layer.layerName, "VK_LAYER_KHRONOS_validation") == 0) return true;
  }
  return false;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "validation") == 0) return has_validation_layers() ? 0 : 1;
  if (const VkInstance instance = open_instance()) {
    uint32_t devices = 0;
    vkEnumeratePhysicalDevices(instance, &devices, nullptr);
    std::vector<VkPhysicalDevice> physical(devices);
    vkEnumeratePhysicalDevices(instance, &devices, physical.data());
    for (const VkPhysicalDevice device : physical) {
      if (runs_commands(device)) return 0;
    }
  }
  std::fprintf(stderr, "no Vulkan 1.2 device here runs a command buffer\n");
  return 1;
}
