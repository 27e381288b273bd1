#include "engine/run/pack_cache.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "engine/device/gpu/kept_file.h"
#include "sync/error.h"
#include "sync/whole_file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".packed";

// Left behind by a process that was killed while it wrote: no program writes for that long.
constexpr auto kAbandoned = std::chrono::hours(1);

void remove_abandoned(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool unfinished = name.find(kSuffix) != std::string::npos && !name.ends_with(kSuffix);
    if (unfinished && entry.is_regular_file(ignored) &&
        fs::file_time_type::clock::now() - entry.last_write_time(ignored) > kAbandoned)
      fs::remove(entry.path(), ignored);
  }
}

}  // namespace

std::optional<PackedFile> PackCache::find(const std::optional<GgufIdentity>& model,
                                          std::span<const size_t> slot_bytes) noexcept {
  if (!on() || !model) return std::nullopt;
  try {
    const fs::path path = fs::path(folder_) / PackedFile::name(*model);
    std::string why;
    std::optional<PackedFile> file = PackedFile::open(path.string(), *model, slot_bytes, why);
    if (!why.empty()) spdlog::warn("kept packed weights are not used, and made anew: {}: {}", path.string(), why);
    if (!file) {
      wanted_ = Wanted{*model, {slot_bytes.begin(), slot_bytes.end()}};
    } else {
      std::error_code ignored;  // a folder that may only be read serves as well
      fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
    }
    return file;
  } catch (const std::exception& error) {
    spdlog::warn("kept packed weights are not used: {}", error.what());
    return std::nullopt;
  }
}

void PackCache::keep(std::span<const sync::Slot* const> slots) noexcept {
  if (!wanted_) return;
  const Wanted wanted = *std::exchange(wanted_, std::nullopt);
  try {
    const std::vector<std::byte> header = PackedFile::header(wanted.model, wanted.slot_bytes);
    uint64_t bytes = header.size();
    for (const sync::Slot* slot : slots) bytes += slot->size_bytes();
    if (bytes > most_bytes_) {
      spdlog::warn("packed weights of {} bytes are not kept: the folder may hold {}", bytes, most_bytes_);
      return;
    }
    fs::create_directories(folder_);
    const std::string path = (fs::path(folder_) / PackedFile::name(wanted.model)).string();
    std::error_code ignored;
    fs::remove(path, ignored);  // one that cannot be used does not count
    remove_abandoned(folder_);
    gpu::keep_newest(folder_, most_bytes_ - bytes, kSuffix);
    WholeFile file(path);
    file.write(header);
    for (const sync::Slot* slot : slots) file.write({slot->data(), slot->size_bytes()});
    file.commit();
    spdlog::info("packed weights are kept for the next start: {}", path);
  } catch (const std::exception& error) {
    spdlog::warn("packed weights are not kept: {}", error.what());
  }
}

}  // namespace tandem
