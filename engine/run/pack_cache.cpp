#include "engine/run/pack_cache.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "engine/run/whole_file.h"
#include "sync/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Left behind by a process that was killed while it wrote: no program writes for that long.
constexpr auto kAbandoned = std::chrono::hours(1);

struct Kept {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

std::vector<Kept> kept_files(const std::string& folder) {
  std::vector<Kept> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file(ignored) || name.find(".packed") == std::string::npos) continue;
    const auto used = entry.last_write_time(ignored);
    if (name.ends_with(".packed"))
      found.push_back({entry.path(), entry.file_size(ignored), used});
    else if (fs::file_time_type::clock::now() - used > kAbandoned)
      fs::remove(entry.path(), ignored);
  }
  std::ranges::sort(found, {}, &Kept::used);
  return found;
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

// The files used last stay, beside one of so many bytes.
void PackCache::make_room(uint64_t bytes) const {
  std::vector<Kept> files = kept_files(folder_);
  for (const Kept& file : files) bytes += file.bytes;
  for (const Kept& file : files) {
    if (bytes <= most_bytes_) break;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    bytes -= file.bytes;
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
    make_room(bytes);
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
