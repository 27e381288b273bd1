#include "engine/device/vulkan/platform.h"

#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "engine/device/proof/proof.h"
#include "engine/device/vulkan/card.h"
#include "engine/device/vulkan/messages.h"
#include "engine/device/vulkan/vulkan_device.h"
#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem {
namespace vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

// Later editions of Vulkan forbid the host to set an event that submitted commands wait for, and the gate does so. Some
// layers say so when the commands are submitted, others when the event is set. The self-test shows whether a driver can
// do it (self_test.cpp).
bool is_about_the_gate(const VkDebugUtilsMessengerCallbackDataEXT& data) {
  if (!data.pMessageIdName) return false;
  const std::string_view id = data.pMessageIdName;
  return id == "VUID-vkSetEvent-event-09543" || id == "VUID-vkCmdWaitEvents-srcStageMask-01158";
}

// The layers call this from any thread. VK_FALSE lets the call that caused the message go on.
VKAPI_ATTR VkBool32 VKAPI_CALL receive(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                       const VkDebugUtilsMessengerCallbackDataEXT* data, void* messages) {
  if (!is_about_the_gate(*data)) static_cast<Messages*>(messages)->add(data->pMessage);
  return VK_FALSE;
}

// Asks for warnings and errors of validation and performance.
VkDebugUtilsMessengerCreateInfoEXT messenger_info(Messages* messages) {
  auto info = typed<VkDebugUtilsMessengerCreateInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  info.pfnUserCallback = receive;
  info.pUserData = messages;
  return info;
}

// Vulkan 1.2 with timeline semaphores.
bool usable(VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(device, &properties);
  if (properties.apiVersion < VK_API_VERSION_1_2) return false;
  auto features12 = typed<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  auto features = typed<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features12);
  vkGetPhysicalDeviceFeatures2(device, &features);
  return features12.timelineSemaphore == VK_TRUE;  // every device has a compute queue
}

bool is_cpu(VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(device, &properties);
  return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

}  // namespace

namespace {

// The loader unloads a driver with its last instance. NVIDIA's driver (580.159) cannot be loaded any more in a process
// that has done so some forty times. So the first instance without a messenger is never destroyed.
bool keep_drivers_loaded(VkInstance instance, VkDebugUtilsMessengerEXT messenger) {
  static std::atomic<VkInstance> kept = VK_NULL_HANDLE;
  VkInstance none = VK_NULL_HANDLE;
  return messenger == VK_NULL_HANDLE && kept.compare_exchange_strong(none, instance);
}

}  // namespace

// Lets the drivers be tried first. With `messages` it enables the validation layer, and a messenger for the instance's
// own creation as well as for later calls.
Instance::Instance(Messages* messages) {
  configure_process(0);
  // The verdict hides drivers from the loader that would end this process.
  const proof::Verdict known = proof::verdict(proof::Api::vulkan);
  if (!known.may_load) throw Error("no Vulkan driver is loaded", known.wanting, known.remedy);
  auto application = typed<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.pApplicationName = "tandem";
  application.apiVersion = VK_API_VERSION_1_2;
  auto info = typed<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  info.pApplicationInfo = &application;
  const char* layers[] = {kValidationLayer};
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  const VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(messages);
  const VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  auto features = typed<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, &messenger);
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = enabled;
  if (messages) {
    info.enabledLayerCount = 1;
    info.enabledExtensionCount = 2;
    info.ppEnabledLayerNames = layers;
    info.ppEnabledExtensionNames = extensions;
    info.pNext = &features;  // the chain also holds the messenger for vkCreateInstance() itself
  }
  check(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance", "the Vulkan loader");
  if (!messages) return;
  const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  const VkResult code = create(instance_, &messenger, nullptr, &messenger_);
  if (code != VK_SUCCESS) vkDestroyInstance(instance_, nullptr);
  check(code, "vkCreateDebugUtilsMessengerEXT", "the Vulkan loader");
}

Instance::~Instance() {
  if (keep_drivers_loaded(instance_, messenger_)) return;
  if (messenger_ != VK_NULL_HANDLE) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(instance_, messenger_, nullptr);
  }
  vkDestroyInstance(instance_, nullptr);
}

bool validation_layers_present() {
  uint32_t count = 0;
  vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  vkEnumerateInstanceLayerProperties(&count, layers.data());
  return std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
    return std::strcmp(layer.layerName, kValidationLayer) == 0;
  });
}

void configure_process(size_t workers) {
  static std::once_flag once;
  std::call_once(once, [workers] {
    const size_t half = std::max<size_t>(1, std::thread::hardware_concurrency() / 2);
    const size_t wanted = workers ? workers : half;
    // lavapipe's 0 means that the queue's own thread computes.
    setenv("LP_NUM_THREADS", std::to_string(wanted == 1 ? 0 : wanted).c_str(), 0);
  });
}

// LP_NUM_THREADS of 0 stands for one thread, the queue's own.
int cpu_workers() {
  const char* threads = getenv("LP_NUM_THREADS");
  return threads ? std::max(1, atoi(threads)) : static_cast<int>(std::thread::hardware_concurrency());
}

// GPUs come first, so index 0 is a GPU if there is one.
std::vector<VkPhysicalDevice> find_devices(const Instance& instance) {
  uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(instance.get(), &count, nullptr), "vkEnumeratePhysicalDevices", "the Vulkan loader");
  std::vector<VkPhysicalDevice> devices(count);
  if (count > 0)
    check(vkEnumeratePhysicalDevices(instance.get(), &count, devices.data()), "vkEnumeratePhysicalDevices",
          "the Vulkan loader");
  std::erase_if(devices, [](VkPhysicalDevice device) { return !usable(device); });
  // Keeps the loader's order among GPUs and among CPUs.
  std::stable_partition(devices.begin(), devices.end(), [](VkPhysicalDevice device) { return !is_cpu(device); });
  return devices;
}

// The driver's version is part of the identity, so that an update leads to a new trial.
std::vector<proof::Identity> identities(const std::vector<VkPhysicalDevice>& found) {
  std::vector<proof::Identity> all;
  for (const VkPhysicalDevice device : found) {
    auto driver = typed<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    auto properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &driver);
    vkGetPhysicalDeviceProperties2(device, &properties);
    const bool gpu = !is_cpu(device);
    all.push_back({properties.properties.deviceName,
                   std::string(driver.driverName) + " " + driver.driverInfo + " " +
                       std::to_string(properties.properties.driverVersion),
                   gpu, gpu ? card_of(device) : CardName(), is_discrete(device)});
  }
  return all;
}

}  // namespace vulkan

std::vector<proof::Identity> vulkan_identities() {
  try {
    const vulkan::Instance instance(nullptr);
    return vulkan::identities(vulkan::find_devices(instance));
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    return {};
  }
}

// The verdict has the answer without loading a driver. Loading one would cost every start 16 ms, even if another
// interface's device is used.
DeviceCount vulkan_device_count() {
  const proof::Verdict known = proof::verdict(proof::Api::vulkan);
  if (known.tried && !known.devices.empty()) {
    const auto gpus =
        std::ranges::count_if(known.devices, [](const proof::DeviceVerdict& one) { return one.identity.gpu; });
    return {static_cast<int>(known.devices.size()), static_cast<int>(gpus)};
  }
  try {
    const vulkan::Instance instance(nullptr);
    const auto found = vulkan::find_devices(instance);
    const auto gpus = std::ranges::count_if(found, [](VkPhysicalDevice one) { return !vulkan::is_cpu(one); });
    return {static_cast<int>(found.size()), static_cast<int>(gpus)};
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    return {};  // there is no driver, or a broken one; opening a device says why
  }
}

// A machine without any driver has no instance. That is no failure.
std::string vulkan_listing_failure() {
  std::optional<vulkan::Instance> instance;
  try {
    instance.emplace(nullptr);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    return "";
  }
  try {
    vulkan::find_devices(*instance);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::vector<KnownGpu> known_vulkan_gpus() { return proof::known_gpus(proof::Api::vulkan, vulkan_identities); }

void configure_vulkan(const DeviceOptions& options) { vulkan::configure_process(options.gpu_cores.size()); }

}  // namespace tandem
