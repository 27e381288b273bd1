#include "engine/device/vulkan/card.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tandem::vulkan {
namespace {

// Taken if the driver does not say: enough work-groups for a small GPU.
constexpr int kGuessedUnits = 16;

// Reads the properties that an extension adds. The device must have the extension.
template <typename T>
T ask(VkPhysicalDevice device, VkStructureType type) {
  T told = typed<T>(type);
  auto properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &told);
  vkGetPhysicalDeviceProperties2(device, &properties);
  return told;
}

// Larger answers are cut, so that the number fits an int.
int counted(uint64_t units) { return static_cast<int>(std::min<uint64_t>(units, 1 << 20)); }

}  // namespace

// Asks twice, as usual in Vulkan: first for the number, and then for the list.
std::set<std::string> extensions_of(VkPhysicalDevice device, const std::string& id) {
  uint32_t count = 0;
  check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr), "vkEnumerateDeviceExtensionProperties",
        id);
  std::vector<VkExtensionProperties> properties(count);
  check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, properties.data()),
        "vkEnumerateDeviceExtensionProperties", id);
  std::set<std::string> names;
  for (const VkExtensionProperties& extension : properties) names.insert(extension.extensionName);
  return names;
}

CardName card_of(VkPhysicalDevice device) {
  CardName card;
  const auto id =
      ask<VkPhysicalDeviceIDProperties>(device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);  // core in Vulkan 1.1
  std::array<uint8_t, VK_UUID_SIZE> uuid{};
  std::copy(std::begin(id.deviceUUID), std::end(id.deviceUUID), uuid.begin());
  card.uuid = uuid_text(uuid);
  if (extensions_of(device, "a Vulkan device").contains(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) {
    const auto at = ask<VkPhysicalDevicePCIBusInfoPropertiesEXT>(
        device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
    card.pci = pci_text(at.pciDomain, at.pciBus, at.pciDevice, at.pciFunction);
  }
  return card;
}

bool is_discrete(VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(device, &properties);
  return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

// Vulkan itself does not count compute units, but extensions of vendors do. The first extension with an answer counts.
ComputeUnits compute_units_of(VkPhysicalDevice device) {
  const std::set<std::string> has = extensions_of(device, "a Vulkan device");
  ComputeUnits units;
  const auto take = [&](uint64_t count, const char* extension) {
    if (units.count == 0 && count > 0) units = {counted(count), std::string("by ") + extension};
  };
  if (has.contains(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
    take(ask<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(
             device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV)
             .shaderSMCount,
         VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME);
  if (has.contains(VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME))
    take(ask<VkPhysicalDeviceShaderCoreProperties2AMD>(device,
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD)
             .activeComputeUnitCount,
         VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME);
  if (has.contains(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) {
    const auto cores = ask<VkPhysicalDeviceShaderCorePropertiesAMD>(
        device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD);
    take(uint64_t{cores.shaderEngineCount} * cores.shaderArraysPerEngineCount * cores.computeUnitsPerShaderArray,
         VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME);
  }
  if (has.contains(VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME))
    take(ask<VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM>(
             device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM)
             .shaderCoreCount,
         VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME);
  if (units.count == 0) units = {kGuessedUnits, "a guess: the driver does not say"};
  return units;
}

}  // namespace tandem::vulkan
