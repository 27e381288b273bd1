#include "engine/device/vulkan/handle.h"

#include <algorithm>
#include <set>

#include "engine/device/proof/proof.h"
#include "engine/device/vulkan/card.h"
#include "sync/affinity.h"
#include "sync/error.h"

namespace tandem::vulkan {
namespace {

// The queue family for computing. A family without graphics is preferred, because it is the GPU's own compute engine.
// Sets timestamp_bits to that family's.
uint32_t find_queue_family(VkPhysicalDevice device, const std::string& id, uint32_t* timestamp_bits) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  int found = -1;
  for (uint32_t i = 0; i < count; ++i) {
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    if (found < 0 || !(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)) found = static_cast<int>(i);
  }
  if (found < 0) throw Error("the device has no queue that computes", id);
  *timestamp_bits = families[static_cast<uint32_t>(found)].timestampValidBits;
  return static_cast<uint32_t>(found);
}

// Whether the driver can compare the device's clock with the clock that steady_clock counts.
bool clocks_comparable(VkInstance instance, VkPhysicalDevice device) {
  const auto domains = reinterpret_cast<PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT"));
  uint32_t count = 0;
  if (!domains || domains(device, &count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkTimeDomainEXT> found(count);
  if (domains(device, &count, found.data()) != VK_SUCCESS) return false;
  return std::ranges::count(found, VK_TIME_DOMAIN_DEVICE_EXT) > 0 &&
         std::ranges::count(found, VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT) > 0;
}

// imports: the driver has VK_EXT_external_memory_host, so its alignment may be asked for. One call fills a chain of
// structures, and a structure of an extension needs that extension.
Limits limits_of(VkPhysicalDevice device, bool imports) {
  auto host = typed<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
  auto maintenance = typed<VkPhysicalDeviceMaintenance3Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, imports ? &host : nullptr);
  auto properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &maintenance);
  vkGetPhysicalDeviceProperties2(device, &properties);
  const VkPhysicalDeviceLimits& said = properties.properties.limits;
  Limits limits;
  limits.max_buffer_range = said.maxStorageBufferRange;
  limits.offset_alignment = said.minStorageBufferOffsetAlignment;
  limits.max_allocation = maintenance.maxMemoryAllocationSize;
  limits.import_alignment = imports ? host.minImportedHostPointerAlignment : 0;
  limits.max_push_bytes = said.maxPushConstantsSize;
  limits.max_invocations = said.maxComputeWorkGroupInvocations;
  limits.max_shared_bytes = said.maxComputeSharedMemorySize;
  for (int d = 0; d < 3; ++d) limits.max_groups[d] = said.maxComputeWorkGroupCount[d];
  limits.timestamp_seconds = said.timestampPeriod * 1e-9;
  return limits;
}

}  // namespace

// Finds the device, asks whether it must be spared steps, reads its limits and extensions, and opens it. Functions of
// extensions are looked up last, since they belong to the device.
Handle::Handle(int index, const std::vector<int>& cores, Messages* messages, bool older_calls)
    : id_("vulkan:" + std::to_string(index)) {
  const OnCores pinned(cores);  // a CPU driver starts its threads here, and they inherit the cores
  instance_ = std::make_unique<Instance>(messages);
  const std::vector<VkPhysicalDevice> found = find_devices(*instance_);
  if (found.empty()) {
    throw Error("there is no Vulkan 1.2 device", id_,
                "Install a Vulkan driver; on Debian without a GPU: apt-get install mesa-vulkan-drivers");
  }
  if (index < 0 || index >= static_cast<int>(found.size())) {
    throw Error("no such Vulkan device", id_, "There are " + std::to_string(found.size()) + ", counted from vulkan:0");
  }
  known_ = proof::require_usable(proof::Api::vulkan, index, identities(found));
  physical_ = found[static_cast<size_t>(index)];
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(physical_, &properties);
  name_ = properties.deviceName;
  cpu_ = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  discrete_ = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  const std::set<std::string> known = extensions_of(physical_, id_);
  // These extensions are optional. Without them memory is copied, clocks are tied by stamped submissions, and the calls
  // of Vulkan 1.0 are used.
  const bool imports = known.contains(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  const bool clocks =
      known.contains(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) && clocks_comparable(instance_->get(), physical_);
  limits_ = limits_of(physical_, imports);
  const bool synchronization2 = !older_calls && known.contains(VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME);
  std::vector<const char*> extensions;
  if (imports) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (clocks) extensions.push_back(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
  if (synchronization2) extensions.push_back(VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME);
  integer_dot_ = known.contains(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  if (integer_dot_) extensions.push_back(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  if (std::ranges::all_of(kMatrixExtensions, [&](const char* name) { return known.contains(name); }))
    matrix_units_ = find_matrix_units(instance_->get(), physical_);
  if (matrix_units_) extensions.insert(extensions.end(), std::begin(kMatrixExtensions), std::end(kMatrixExtensions));
  open(extensions, synchronization2);
  if (imports) {
    host_pointer_properties_ = reinterpret_cast<PFN_vkGetMemoryHostPointerPropertiesEXT>(
        vkGetDeviceProcAddr(device_, "vkGetMemoryHostPointerPropertiesEXT"));
  }
  if (clocks) {
    calibrated_timestamps_ = reinterpret_cast<PFN_vkGetCalibratedTimestampsEXT>(
        vkGetDeviceProcAddr(device_, "vkGetCalibratedTimestampsEXT"));
  }
}

// Opens the device with one queue. Features of optional extensions are chained only if the device has the extension.
void Handle::open(const std::vector<const char*>& extensions, bool synchronization2) {
  queue_family_ = find_queue_family(physical_, id_, &limits_.timestamp_bits);
  const float priority = 1;
  auto queue = typed<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = queue_family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto features = typed<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  features.timelineSemaphore = VK_TRUE;
  features.shaderInt8 = features.vulkanMemoryModel = matrix_units_.has_value();
  // With the memory model, atomics of other shaders need the device's scope, too.
  features.vulkanMemoryModelDeviceScope = features.vulkanMemoryModel;
  void* chain = &features;
  // Puts a structure of features before those that are chained already. Missing ones are left out.
  const auto enable = [&chain](auto& structure, bool wanted) {
    if (!wanted) return;
    structure.pNext = chain;
    chain = &structure;
  };
  auto newer =
      typed<VkPhysicalDeviceSynchronization2Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES);
  newer.synchronization2 = VK_TRUE;  // every driver that lists the extension has the feature
  enable(newer, synchronization2);
  auto dot = typed<VkPhysicalDeviceShaderIntegerDotProductFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  dot.shaderIntegerDotProduct = VK_TRUE;
  enable(dot, integer_dot_);
  auto matrices = typed<CooperativeMatrixFeatures>(kCooperativeMatrixFeatures);
  matrices.cooperativeMatrix = VK_TRUE;
  enable(matrices, matrix_units_.has_value());
  auto sizes = typed<VkPhysicalDeviceSubgroupSizeControlFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  sizes.subgroupSizeControl = sizes.computeFullSubgroups = VK_TRUE;
  enable(sizes, matrix_units_.has_value());
  auto info = typed<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, chain);
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice", id_);
  vkGetDeviceQueue(device_, queue_family_, 0, &queue_);
  synchronization_ = make_synchronization(device_, synchronization2);
}

// A device may be destroyed only when its work has ended.
Handle::~Handle() {
  if (device_ == VK_NULL_HANDLE) return;
  vkDeviceWaitIdle(device_);
  vkDestroyDevice(device_, nullptr);
}

// A queue takes one call at a time, and several threads submit. So the calls are made under a lock.
void Handle::submit(const Submission& submission, VkFence fence, const std::string& object) {
  std::lock_guard lock(queue_mutex_);
  check(synchronization_->submit(queue_, submission, fence), synchronization_->submit_call(), object);
}

uint32_t Handle::memory_type(uint32_t allowed, VkMemoryPropertyFlags properties) const {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
  // Among types with the same properties, drivers list faster ones first. So the first match counts.
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if ((allowed >> i & 1) && (memory.memoryTypes[i].propertyFlags & properties) == properties) return i;
  }
  throw Error("the device has no memory of the kind that is needed", id_);
}

}  // namespace tandem::vulkan
