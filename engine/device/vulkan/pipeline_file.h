// The driver's compiled pipelines on disk, so that the next start need not compile them.
//
// Contract
//   A file belongs to one device and driver, which its name says, and to one set of shaders. Its header repeats all of
//   them, with the length and a checksum of the content.
//   load() returns the driver's data, or nothing. A file that is absent, cut off or damaged is left alone, and so is
//   one of another driver or other shaders. None of these is an error. The log says why, as a warning, or as
//   information after an update of the program or the driver.
//   save() replaces the file whole or not at all: it writes a temporary file beside it and renames that. A folder that
//   cannot be written is logged.
//   Threads: one; processes: any number, the last to save wins.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/vulkan/vk.h"

namespace tandem::vulkan {

// Everything on which compiled pipelines depend.
struct PipelineKey {
  std::array<uint8_t, VK_UUID_SIZE> device{}, driver{}, cache{};  // deviceUUID, driverUUID, pipelineCacheUUID
  uint32_t vendor_id = 0, device_id = 0, driver_version = 0, driver_kind = 0;
  uint64_t shaders = 0;  // shaders_hash()
};
PipelineKey pipeline_key(VkPhysicalDevice device);

class PipelineFile {
 public:
  // folder: "" means that nothing is kept.
  PipelineFile(const std::string& folder, const PipelineKey& key);
  std::optional<std::vector<char>> load() const noexcept;
  void save(const std::vector<char>& data) const noexcept;
  const std::string& path() const { return path_; }  // "": nothing is kept

 private:
  std::string path_;
  PipelineKey key_;
};

}  // namespace tandem::vulkan
