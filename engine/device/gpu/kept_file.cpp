#include "engine/device/gpu/kept_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tandem::gpu {

std::string default_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache) return std::string(cache) + "/tandem";
  if (home && *home) return std::string(home) + "/.cache/tandem";
  return "";
}

uint64_t fnv1a(std::span<const char> bytes, uint64_t seed) {
  uint64_t hash = seed;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  return hash;
}

std::string replace_file(const std::string& path, std::initializer_list<std::span<const char>> parts) noexcept {
  const std::string temporary = path + ".part" + std::to_string(getpid());
  std::string why;
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    for (const auto part : parts) out.write(part.data(), static_cast<std::streamsize>(part.size()));
    out.close();
    if (out && std::rename(temporary.c_str(), path.c_str()) == 0) return "";
    why = std::strerror(errno);
  } catch (const std::exception& error) {
    why = error.what();
  }
  std::remove(temporary.c_str());
  return why;
}

}  // namespace tandem::gpu
