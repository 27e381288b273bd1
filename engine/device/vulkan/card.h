// Finds out which card a Vulkan device is, and how many compute units it has. Properties of extensions hold both.
//
// Contract: asks the driver at every call. Threads: any.
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
  std::string note;  // the extension that says so, or that it is a guess
};
ComputeUnits compute_units_of(VkPhysicalDevice device);  // for a real GPU

}  // namespace tandem::vulkan
