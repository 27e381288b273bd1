// The matrix units of a device, as VK_KHR_cooperative_matrix describes them.
//
// Debian 12's headers are older than the extension. So its structures and numbers stand here, in this project's names.
// Source: the Vulkan specification, VK_KHR_cooperative_matrix, revision 2.
//
// Contract: free functions without state. Threads: any.
#pragma once

#include <vulkan/vulkan.h>

#include <optional>

#include "engine/device/gpu/lower.h"

namespace tandem::vulkan {

// The extensions that kernels with cooperative matrices need.
inline constexpr const char* kMatrixExtensions[] = {"VK_KHR_cooperative_matrix",
                                                    VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME};
inline constexpr auto kCooperativeMatrixFeatures = static_cast<VkStructureType>(1000506000);
inline constexpr auto kCooperativeMatrixProperties = static_cast<VkStructureType>(1000506001);

struct CooperativeMatrixFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
};

struct CooperativeMatrixProperties {
  VkStructureType sType;
  void* pNext;
  uint32_t rows, tokens, columns;            // M, N and K
  uint32_t of_rows, of_tokens, added, sums;  // component types of A, B, C and of the result
  VkBool32 saturates;
  uint32_t scope;
};

// The matrix units of a device, with the facts that a pipeline needs.
struct CooperativeUnits {
  gpu::MatrixShape shape;
  uint32_t subgroup_size = 0;
  bool has_several_sizes = false;  // a pipeline must then ask for subgroup_size
};

// How shaders/matmul_units.glsl uses such matrices in groups of 128: signed bytes, sums of 32 bits, one subgroup each.
// nothing: the group's tile cannot be cut into them.
std::optional<gpu::MatrixShape> shape_for(const CooperativeMatrixProperties& offered, uint32_t subgroup_size);

// The units of a device that lists kMatrixExtensions, with the largest shape that fits. nothing: it has none that fit,
// or it lacks a feature that the shader needs.
std::optional<CooperativeUnits> find_matrix_units(VkInstance instance, VkPhysicalDevice device);

}  // namespace tandem::vulkan
