#include "engine/device/vulkan/cooperative_matrix.h"

#include <vector>

#include "engine/device/vulkan/vk.h"

namespace tandem::vulkan {
namespace {

// Component types and scopes of the specification.
constexpr uint32_t kSignedByte = 3, kSignedWord = 5, kSubgroupScope = 3;
constexpr uint32_t kGroup = 128;     // invocations of a work-group
constexpr uint32_t kSide = 64;       // rows of its tile, and tokens
constexpr uint32_t kMostSums = 256;  // of a matrix: the shader has memory for 4 of them
constexpr uint32_t kMostSubgroups = 16;

bool has_features(VkPhysicalDevice device) {
  auto matrices = typed<CooperativeMatrixFeatures>(kCooperativeMatrixFeatures);
  auto sizes = typed<VkPhysicalDeviceSubgroupSizeControlFeatures>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES, &matrices);
  auto features12 =
      typed<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &sizes);
  auto features = typed<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features12);
  vkGetPhysicalDeviceFeatures2(device, &features);
  return matrices.cooperativeMatrix && sizes.subgroupSizeControl && sizes.computeFullSubgroups &&
         features12.shaderInt8 && features12.vulkanMemoryModel && features12.vulkanMemoryModelDeviceScope;
}

std::vector<CooperativeMatrixProperties> offers(VkInstance instance, VkPhysicalDevice device) {
  using Function = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, CooperativeMatrixProperties*);
  const auto ask =
      reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (!ask || ask(device, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<CooperativeMatrixProperties> all(count, typed<CooperativeMatrixProperties>(kCooperativeMatrixProperties));
  if (ask(device, &count, all.data()) != VK_SUCCESS) return {};
  all.resize(count);
  return all;
}

// Columns first: a unit of 32 columns adds a whole group of codes.
bool is_better(const gpu::MatrixShape& shape, const gpu::MatrixShape& than) {
  if (shape.columns != than.columns) return shape.columns > than.columns;
  return shape.rows * shape.tokens > than.rows * than.tokens;
}

}  // namespace

std::optional<gpu::MatrixShape> shape_for(const CooperativeMatrixProperties& offered, uint32_t subgroup_size) {
  if (offered.of_rows != kSignedByte || offered.of_tokens != kSignedByte) return std::nullopt;
  if (offered.added != kSignedWord || offered.sums != kSignedWord || offered.saturates) return std::nullopt;
  if (offered.scope != kSubgroupScope || subgroup_size == 0 || kGroup % subgroup_size != 0) return std::nullopt;
  const uint32_t subgroups = kGroup / subgroup_size;
  if (subgroups > kMostSubgroups) return std::nullopt;
  if (offered.columns != 8 && offered.columns != 16 && offered.columns != 32) return std::nullopt;
  // The subgroups cut the tile as the shader's SUBGROUP_ROWS and SUBGROUP_TOKENS say.
  const uint32_t along_tokens = subgroups >= 4 ? 2 : 1, along_rows = subgroups / along_tokens;
  if (offered.rows == 0 || kSide / along_rows % offered.rows != 0) return std::nullopt;
  if (offered.tokens == 0 || kSide / along_tokens % offered.tokens != 0) return std::nullopt;
  const uint32_t sums = offered.rows * offered.tokens;
  if (sums > kMostSums || sums % subgroup_size != 0) return std::nullopt;
  return gpu::MatrixShape{offered.rows, offered.tokens, offered.columns, subgroups};
}

std::optional<CooperativeUnits> find_matrix_units(VkInstance instance, VkPhysicalDevice device) {
  if (!has_features(device)) return std::nullopt;
  auto sizes = typed<VkPhysicalDeviceSubgroupSizeControlProperties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  auto subgroups =
      typed<VkPhysicalDeviceSubgroupProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, &sizes);
  auto properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &subgroups);
  vkGetPhysicalDeviceProperties2(device, &properties);
  CooperativeUnits found;
  found.subgroup_size = subgroups.subgroupSize;
  found.has_several_sizes = sizes.minSubgroupSize != sizes.maxSubgroupSize;
  if (found.has_several_sizes && !(sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT)) return std::nullopt;
  bool fits = false;
  for (const CooperativeMatrixProperties& offered : offers(instance, device)) {
    const auto shape = shape_for(offered, found.subgroup_size);
    if (shape && (!fits || is_better(*shape, found.shape))) found.shape = *shape, fits = true;
  }
  return fits ? std::optional(found) : std::nullopt;
}

}  // namespace tandem::vulkan
