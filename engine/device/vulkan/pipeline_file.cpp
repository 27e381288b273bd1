#include "engine/device/vulkan/pipeline_file.h"

#include <spdlog/spdlog.h>

#include <cstring>
#include <span>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/room.h"
#include "shaders/shaders.h"
#include "sync/error.h"
#include "sync/whole_file.h"

namespace tandem::vulkan {
namespace {

// The file begins with this. It has no padding, so headers can be compared as bytes.
struct Header {
  char magic[8] = {'T', 'N', 'D', 'M', 'P', 'I', 'P', 'E'};
  uint32_t version = 1, header_bytes = sizeof(Header);
  PipelineKey key;
  uint64_t data_bytes = 0, checksum = 0;
};
constexpr const char* kOther = "it is of another driver, device or set of shaders";
static_assert(std::is_trivially_copyable_v<Header> && std::has_unique_object_representations_v<Header>);

std::string hex(const std::array<uint8_t, VK_UUID_SIZE>& uuid) {
  std::string text;
  for (const uint8_t byte : uuid) text += fmt::format("{:02x}", byte);
  return text;
}

// Whether the file is of the same device and driver, and only versions or shaders differ, as after every update.
bool only_updated(const std::string& content, const PipelineKey& key) {
  if (content.size() < sizeof(Header)) return false;
  Header header;
  std::memcpy(&header, content.data(), sizeof header);
  // Takes over the fields that an update changes. All others must be equal.
  header.key.driver_version = key.driver_version;
  header.key.cache = key.cache;
  header.key.shaders = key.shaders;
  return std::memcmp(&header.key, &key, sizeof key) == 0;
}

// Why the file's content must not be used; "": it may. Every part of the header must fit before the driver gets
// the data.
std::string refusal(const std::string& content, const PipelineKey& key) {
  if (content.size() < sizeof(Header)) return "it is cut off";
  Header header;
  std::memcpy(&header, content.data(), sizeof header);
  const Header wanted;
  if (std::memcmp(header.magic, wanted.magic, sizeof wanted.magic) != 0 || header.version != wanted.version ||
      header.header_bytes != wanted.header_bytes)
    return "it is no pipeline cache of this version";
  if (std::memcmp(&header.key, &key, sizeof key) != 0) return kOther;
  if (content.size() - sizeof header != header.data_bytes) return "it is cut off";
  if (gpu::fnv1a(std::span(content).subspan(sizeof header)) != header.checksum) return "it is damaged";
  return "";
}

}  // namespace

// Everything that makes a cache useless to another device, driver or program: UUIDs, ids, the driver's version, and the
// hash of the shaders.
PipelineKey pipeline_key(VkPhysicalDevice device) {
  auto driver = typed<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  auto ids = typed<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, &driver);
  auto properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &ids);
  vkGetPhysicalDeviceProperties2(device, &properties);
  PipelineKey key;
  std::memcpy(key.device.data(), ids.deviceUUID, VK_UUID_SIZE);
  std::memcpy(key.driver.data(), ids.driverUUID, VK_UUID_SIZE);
  std::memcpy(key.cache.data(), properties.properties.pipelineCacheUUID, VK_UUID_SIZE);
  key.vendor_id = properties.properties.vendorID;
  key.device_id = properties.properties.deviceID;
  key.driver_version = properties.properties.driverVersion;
  key.driver_kind = static_cast<uint32_t>(driver.driverID);
  key.shaders = shaders_hash();
  return key;
}

// The device's and the driver's UUIDs are in the name, so each pair of a device and a driver has its own file.
PipelineFile::PipelineFile(const std::string& folder, const PipelineKey& key) : key_(key) {
  if (!folder.empty()) path_ = folder + "/vulkan-" + hex(key.device) + "-" + hex(key.driver) + ".pipelines";
}

// An absent file is no event. Any other reason is logged.
std::optional<std::vector<char>> PipelineFile::load() const noexcept {
  try {
    const auto content = path_.empty() ? std::nullopt : read_file_if_there(path_);
    if (!content) return std::nullopt;
    const std::string why = refusal(*content, key_);
    if (why.empty()) return std::vector<char>(content->begin() + sizeof(Header), content->end());
    // Every update of the driver or the program leads here, so that is not worth a warning.
    const auto level = why == kOther && only_updated(*content, key_) ? spdlog::level::info : spdlog::level::warn;
    spdlog::log(level, "the Vulkan pipeline cache is ignored and will be made anew: {}: {}", path_, why);
  } catch (const std::exception& error) {
    spdlog::warn("the Vulkan pipeline cache is ignored: {}: {}", path_, error.what());
  }
  return std::nullopt;
}

void PipelineFile::save(const std::vector<char>& data) const noexcept {
  if (path_.empty()) return;
  Header header;
  header.key = key_;
  header.data_bytes = data.size();
  header.checksum = gpu::fnv1a(data);
  const std::string why =
      gpu::replace_file(path_, {{reinterpret_cast<const char*>(&header), sizeof header}, std::span(data)});
  if (!why.empty()) proof::say_not_kept("compiled Vulkan pipelines", why);
}

}  // namespace tandem::vulkan
