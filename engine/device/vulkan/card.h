// Which card a Vulkan device is, and how many compute units it has: both stand in properties of extensions.
#pragma once

#include <set>
#include <string>

#include "engine/device/card_name.h"
#include "engine/device/vulkan/vk.h"

namespace tandem::vulkan {

std::set<std::string> extensions_of(VkPhysicalDevice device, const std::string& id);  // id: for errors
CardName card_of(VkPhysicalDevice device);
bool is_discrete(VkPhysicalDevice device);

struct ComputeUnits {
  int count = 0;
  std::string note;  // whose word it is; a guess where the driver does not say
};
ComputeUnits compute_units_of(VkPhysicalDevice device);  // of a real GPU

}  // namespace tandem::vulkan
