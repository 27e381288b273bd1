#include "engine/device/vulkan/vk.h"

#include "sync/error.h"

namespace tandem::vulkan {
namespace {

// A code and its name.
struct Code {
  VkResult value;
  const char* name;
};
#define TANDEM_VK_CODE(name) \
  { name, #name }
constexpr Code kCodes[] = {
    TANDEM_VK_CODE(VK_SUCCESS),
    TANDEM_VK_CODE(VK_NOT_READY),
    TANDEM_VK_CODE(VK_TIMEOUT),
    TANDEM_VK_CODE(VK_INCOMPLETE),
    TANDEM_VK_CODE(VK_ERROR_OUT_OF_HOST_MEMORY),
    TANDEM_VK_CODE(VK_ERROR_OUT_OF_DEVICE_MEMORY),
    TANDEM_VK_CODE(VK_ERROR_INITIALIZATION_FAILED),
    TANDEM_VK_CODE(VK_ERROR_DEVICE_LOST),
    TANDEM_VK_CODE(VK_ERROR_MEMORY_MAP_FAILED),
    TANDEM_VK_CODE(VK_ERROR_LAYER_NOT_PRESENT),
    TANDEM_VK_CODE(VK_ERROR_EXTENSION_NOT_PRESENT),
    TANDEM_VK_CODE(VK_ERROR_FEATURE_NOT_PRESENT),
    TANDEM_VK_CODE(VK_ERROR_INCOMPATIBLE_DRIVER),
    TANDEM_VK_CODE(VK_ERROR_TOO_MANY_OBJECTS),
    TANDEM_VK_CODE(VK_ERROR_FRAGMENTED_POOL),
    TANDEM_VK_CODE(VK_ERROR_OUT_OF_POOL_MEMORY),
    TANDEM_VK_CODE(VK_ERROR_INVALID_EXTERNAL_HANDLE),
    TANDEM_VK_CODE(VK_ERROR_UNKNOWN),
};
#undef TANDEM_VK_CODE

// Advice to the user about a code; "": there is none.
const char* hint(VkResult code) {
  switch (code) {
    case VK_ERROR_INCOMPATIBLE_DRIVER:
    case VK_ERROR_INITIALIZATION_FAILED:
      return "Install a Vulkan driver; on Debian without a GPU: apt-get install mesa-vulkan-drivers";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "Install the validation layers (vulkan-validationlayers), or do not ask for them";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "The device is out of memory: use a smaller model, context or batch";
    case VK_ERROR_DEVICE_LOST:
      return "The driver gave the device up, after a hang or a fault; it must be opened again";
    default:
      return "";
  }
}

}  // namespace

std::string code_name(VkResult code) {
  for (const Code& known : kCodes) {
    if (known.value == code) return known.name;
  }
  return "code " + std::to_string(code);
}

void check(VkResult code, const char* call, const std::string& object) {
  if (code == VK_SUCCESS) return;
  throw Error(std::string(call) + " failed with " + code_name(code), object, hint(code));
}

}  // namespace tandem::vulkan
