// The driver's compiled pipelines on disk, so that the next start need not compile them.
//
// Contract
//   A file belongs to one device and driver (its name says which) and to one set of shaders; its header repeats all of
//   it, with the length and a checksum of what follows. load() gives the driver's data, or nothing: a file that is
//   absent, cut off, damaged, or of another driver or other shaders is left alone, with a log line saying why, and is
//   never an error (after an update of program or driver it is a quiet one). save() replaces the file whole or not at
//   all (a temporary beside it, renamed); a folder that cannot be written is a log line too. Threads: one; processes:
//   any number, the last to save wins.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/vulkan/vk.h"

namespace tandem::vulkan {

// All that compiled pipelines depend on.
struct PipelineKey {
  std::array<uint8_t, VK_UUID_SIZE> device{}, driver{}, cache{};  // deviceUUID, driverUUID, pipelineCacheUUID
  uint32_t vendor_id = 0, device_id = 0, driver_version = 0, driver_kind = 0;
  uint64_t shaders = 0;  // shaders_hash()
};
PipelineKey pipeline_key(VkPhysicalDevice device);

class PipelineFile {
 public:
  // folder: empty for no file at all.
  PipelineFile(const std::string& folder, const PipelineKey& key);
  std::optional<std::vector<char>> load() const noexcept;
  void save(const std::vector<char>& data) const noexcept;
  const std::string& path() const { return path_; }  // empty: none

 private:
  std::string path_;
  PipelineKey key_;
};

}  // namespace tandem::vulkan
