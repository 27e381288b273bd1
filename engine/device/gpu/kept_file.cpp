#include "engine/device/gpu/kept_file.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "sync/whole_file.h"

namespace tandem::gpu {

std::string default_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache) return std::string(cache) + "/tandem";
  if (home && *home) return std::string(home) + "/.cache/tandem";
  return "";
}

// The hash FNV-1a of 64 bits: an exclusive or with each byte, then a multiplication by the FNV prime.
uint64_t fnv1a(std::span<const char> bytes, uint64_t seed) {
  uint64_t hash = seed;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  return hash;
}

// A folder in the place of the file is renamed to NAME.damaged-PID. Any failure becomes the returned text.
std::string replace_file(const std::string& path, std::initializer_list<std::span<const char>> parts) noexcept {
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))  // its owner may still need its content
      std::filesystem::rename(path, path + ".damaged-" + std::to_string(getpid()), ignored);
    WholeFile file(path);
    for (const auto part : parts) file.write(std::as_bytes(part));
    file.commit();
    return "";
  } catch (const std::filesystem::filesystem_error& error) {
    return error.path1().string() + ": " + error.code().message();
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Sorts the files by the time of last use and removes from the oldest until the rest fits.
int keep_newest(const std::string& folder, uint64_t most_bytes, const std::string& suffix) noexcept {
  namespace fs = std::filesystem;
  struct Kept {
    fs::file_time_type used;
    fs::path path;
    uint64_t bytes = 0;
  };
  int removed = 0;
  try {
    std::vector<Kept> files;
    uint64_t sum = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (!entry.is_regular_file() || !entry.path().string().ends_with(suffix)) continue;
      files.push_back({entry.last_write_time(), entry.path(), entry.file_size()});
      sum += files.back().bytes;
    }
    std::ranges::sort(files, {}, &Kept::used);
    for (size_t i = 0; i < files.size() && sum > most_bytes; ++i) {
      sum -= files[i].bytes;
      removed += fs::remove(files[i].path);
    }
  } catch (const std::exception&) {
    // Another process may have removed some files meanwhile. The next process that looks removes the rest.
  }
  return removed;
}

// The time of the last write serves as the time of the last use.
void mark_as_used(const std::string& path) noexcept {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now(), marked = fs::last_write_time(path, error);
  if (!error && now - marked > std::chrono::hours(24)) fs::last_write_time(path, now, error);
}

}  // namespace tandem::gpu
