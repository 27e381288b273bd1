// How the engine reads a card's drivers. Functions of the two interfaces stand in for the loaders' and return
// made-up answers.
#include "engine/device/opencl/card.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <gtest/gtest.h>
#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "engine/device/known_gpu.h"
#include "engine/device/vulkan/card.h"

namespace {

constexpr uint8_t kUuid[16] = {0xa1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

struct VulkanAnswers {
  std::vector<std::string> extensions;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
} vulkan_says;

std::map<cl_device_info, std::string> opencl_says;

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

void answer(VkPhysicalDeviceShaderSMBuiltinsPropertiesNV& asked) { asked.shaderSMCount = 132; }
void answer(VkPhysicalDeviceShaderCoreProperties2AMD& asked) { asked.activeComputeUnitCount = 96; }
void answer(VkPhysicalDeviceShaderCorePropertiesAMD& asked) {
  asked.shaderEngineCount = 4;
  asked.shaderArraysPerEngineCount = 2;
  asked.computeUnitsPerShaderArray = 10;
}
void answer(VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM& asked) { asked.shaderCoreCount = 10; }
void answer(VkPhysicalDevicePCIBusInfoPropertiesEXT& asked) {
  asked.pciBus = 0x65;
  asked.pciFunction = 1;
}
void answer(VkPhysicalDeviceIDProperties& asked) { std::ranges::copy(kUuid, asked.deviceUUID); }

}  // namespace

extern "C" {

VKAPI_ATTR VkResult VKAPI_CALL vkEnumerateDeviceExtensionProperties(VkPhysicalDevice, const char*, uint32_t* count,
                                                                    VkExtensionProperties* found) {
  *count = static_cast<uint32_t>(vulkan_says.extensions.size());
  for (uint32_t i = 0; found != nullptr && i < *count; ++i)
    std::strncpy(found[i].extensionName, vulkan_says.extensions[i].c_str(), VK_MAX_EXTENSION_NAME_SIZE - 1);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties(VkPhysicalDevice, VkPhysicalDeviceProperties* properties) {
  *properties = {};
  properties->deviceType = vulkan_says.type;
}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties2(VkPhysicalDevice, VkPhysicalDeviceProperties2* properties) {
  auto* asked = static_cast<VkBaseOutStructure*>(properties->pNext);
  ASSERT_NE(asked, nullptr);
  switch (asked->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV:
      return answer(*reinterpret_cast<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV*>(asked));
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD:
      return answer(*reinterpret_cast<VkPhysicalDeviceShaderCoreProperties2AMD*>(asked));
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD:
      return answer(*reinterpret_cast<VkPhysicalDeviceShaderCorePropertiesAMD*>(asked));
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM:
      return answer(*reinterpret_cast<VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM*>(asked));
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT:
      return answer(*reinterpret_cast<VkPhysicalDevicePCIBusInfoPropertiesEXT*>(asked));
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES:
      return answer(*reinterpret_cast<VkPhysicalDeviceIDProperties*>(asked));
    default:
      FAIL() << "nobody asks for that: " << asked->sType;
  }
}

cl_int CL_API_CALL clRetainDevice(cl_device_id) { return CL_SUCCESS; }
cl_int CL_API_CALL clReleaseDevice(cl_device_id) { return CL_SUCCESS; }

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id, cl_device_info what, size_t room, void* value, size_t* bytes) {
  const auto found = opencl_says.find(what);
  if (found == opencl_says.end()) return CL_INVALID_VALUE;
  if (bytes != nullptr) *bytes = found->second.size();
  if (value == nullptr) return CL_SUCCESS;
  if (room < found->second.size()) return CL_INVALID_VALUE;
  std::memcpy(value, found->second.data(), found->second.size());
  return CL_SUCCESS;
}

}  // extern "C"

namespace tandem {
namespace {

const VkPhysicalDevice kVulkanDevice = reinterpret_cast<VkPhysicalDevice>(0x10);

void expect_units(const std::vector<std::string>& extensions, int count, const std::string& note) {
  vulkan_says.extensions = extensions;
  const vulkan::ComputeUnits units = vulkan::compute_units_of(kVulkanDevice);
  EXPECT_EQ(units.count, count);
  EXPECT_EQ(units.note, note);
}

TEST(VulkanCard, has_as_many_units_as_its_vendors_properties_say_and_a_guess_is_called_one) {
  expect_units({"VK_KHR_swapchain", "VK_NV_shader_sm_builtins"}, 132, "by VK_NV_shader_sm_builtins");
  expect_units({"VK_AMD_shader_core_properties", "VK_AMD_shader_core_properties2"}, 96,
               "by VK_AMD_shader_core_properties2");
  expect_units({"VK_AMD_shader_core_properties"}, 80, "by VK_AMD_shader_core_properties");
  expect_units({"VK_ARM_shader_core_builtins"}, 10, "by VK_ARM_shader_core_builtins");
  expect_units({"VK_EXT_pci_bus_info"}, 16, "a guess: the driver does not say");
}

TEST(VulkanCard, is_named_by_its_uuid_and_its_place_on_the_bus) {
  vulkan_says.extensions = {};
  EXPECT_EQ(vulkan::card_of(kVulkanDevice), (CardName{"a102030405060708090a0b0c0d0e0f10", ""}));
  vulkan_says.extensions = {"VK_EXT_pci_bus_info"};
  EXPECT_EQ(vulkan::card_of(kVulkanDevice), (CardName{"a102030405060708090a0b0c0d0e0f10", "0000:65:00.1"}));
}

TEST(VulkanCard, is_discrete_as_the_driver_says) {
  vulkan_says.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  EXPECT_FALSE(vulkan::is_discrete(kVulkanDevice));
  vulkan_says.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  EXPECT_TRUE(vulkan::is_discrete(kVulkanDevice));
}

class OpenclCard : public ::testing::Test {
 protected:
  void SetUp() override { opencl_says = {}; }
  static void extensions(const std::string& names) { opencl_says[CL_DEVICE_EXTENSIONS] = names + '\0'; }
  const cl::Device device_{reinterpret_cast<cl_device_id>(0x10), false};
};

TEST_F(OpenclCard, is_named_by_the_extensions_of_khronos) {
  opencl_says[CL_DEVICE_UUID_KHR] = bytes_of(kUuid);
  opencl_says[CL_DEVICE_PCI_BUS_INFO_KHR] = bytes_of(cl_device_pci_bus_info_khr{1, 0x65, 2, 3});
  extensions("cl_khr_fp64 cl_khr_device_uuid cl_khr_pci_bus_info");
  EXPECT_EQ(opencl::card_of(device_), (CardName{"a102030405060708090a0b0c0d0e0f10", "0001:65:02.3"}));
  extensions("cl_khr_fp64");
  EXPECT_EQ(opencl::card_of(device_), CardName()) << "what is not promised is not asked for";
}

TEST_F(OpenclCard, is_named_by_what_nvidia_and_amd_have_had_before) {
  opencl_says[0x4008] = bytes_of(cl_uint{0x65});
  opencl_says[0x4009] = bytes_of(cl_uint{2 << 3 | 1});
  opencl_says[0x400A] = bytes_of(cl_uint{1});
  extensions("cl_nv_device_attribute_query");
  EXPECT_EQ(opencl::card_of(device_).pci, "0001:65:02.1");
  cl_device_topology_amd place{};
  place.pcie.type = CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD;
  place.pcie.bus = static_cast<cl_char>(0xc3);
  place.pcie.function = 1;
  opencl_says[CL_DEVICE_TOPOLOGY_AMD] = bytes_of(place);
  extensions("cl_amd_device_attribute_query");
  EXPECT_EQ(opencl::card_of(device_).pci, "0000:c3:00.1");
}

TEST_F(OpenclCard, is_discrete_where_it_shares_no_memory_with_the_host) {
  const auto says = [](cl_device_type type, cl_bool unified) {
    opencl_says[CL_DEVICE_TYPE] = bytes_of(type);
    opencl_says[CL_DEVICE_HOST_UNIFIED_MEMORY] = bytes_of(unified);
  };
  says(CL_DEVICE_TYPE_GPU, CL_FALSE);
  EXPECT_TRUE(opencl::is_discrete(device_));
  says(CL_DEVICE_TYPE_GPU, CL_TRUE);
  EXPECT_FALSE(opencl::is_discrete(device_));
  says(CL_DEVICE_TYPE_CPU, CL_FALSE);
  EXPECT_FALSE(opencl::is_discrete(device_));
}

TEST(Cards, are_one_by_either_name) {
  const CardName whole{"aa", "0000:65:00.0"};
  EXPECT_TRUE(is_one_card(whole, {"aa", ""}));
  EXPECT_TRUE(is_one_card(whole, {"bb", "0000:65:00.0"}));
  EXPECT_FALSE(is_one_card(whole, {"bb", "0000:66:00.0"}));
  EXPECT_FALSE(is_one_card({}, {})) << "two CPU drivers have no card";
  EXPECT_EQ(uuid_text({}), "");
}

TEST(Cards, without_a_name_are_told_apart_by_what_they_are_called) {
  EXPECT_TRUE(is_same_card({"opencl:0", "H100"}, {"vulkan:0", "H100"}));
  EXPECT_TRUE(is_same_card({"opencl:0", "H100"}, {"vulkan:0", "H100", {"aa", ""}}));
  EXPECT_FALSE(is_same_card({"opencl:0", "H100"}, {"vulkan:0", "H200"}));
  EXPECT_FALSE(is_same_card({"opencl:0", "H100", {"aa", ""}}, {"vulkan:0", "H100", {"bb", ""}}));
}

}  // namespace
}  // namespace tandem
