#include "engine/device/proof/room.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <span>

#include "engine/device/gpu/kept_file.h"

namespace tandem::proof {
namespace {

// The reason that this process has warned of. All parts of the program share it, so there is one warning.
struct Said {
  std::mutex mutex;
  std::string why;
};
Said& said() {
  static Said one;
  return one;
}

// False: errno holds the reason. A write may be cut short, and the next write then fails with the reason.
bool wrote_all(int file, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(wrote));
  }
  return true;
}

}  // namespace

// Reads the free space first. Then writes a page and removes it, which shows whether the folder takes files at all.
std::string why_not_kept(const std::string& folder) noexcept {
  try {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return folder + ": " + failed.message();
    struct statvfs found {};
    if (statvfs(folder.c_str(), &found) == 0 && uint64_t{found.f_bavail} * found.f_frsize < kLeastRoom)
      return folder + ": No space left on device (" + std::to_string(found.f_bavail * found.f_frsize >> 10) + " KiB)";
    const std::string path = folder + "/.room-" + std::to_string(getpid());
    const int file = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    const std::array<char, 4096> page{};
    const std::string why = file >= 0 && wrote_all(file, page) ? "" : folder + ": " + std::strerror(errno);
    if (file >= 0) close(file);
    if (file >= 0) unlink(path.c_str());
    return why;
  } catch (const std::exception& error) {
    return folder + ": " + error.what();
  }
}

// A variable that a job left behind may name a folder that is gone.
std::string temporary_folder() noexcept {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  return failed ? "/tmp" : folder.string();
}

std::string why_nothing_is_kept() noexcept {
  const std::string folder = gpu::default_cache_folder();
  return folder.empty() ? "neither XDG_CACHE_HOME nor HOME says where" : why_not_kept(folder);
}

// Only the first reason is a warning. A shortage meets many files, and one warning is enough.
void say_not_kept(const std::string& what, const std::string& why) noexcept {
  try {
    const std::lock_guard lock(said().mutex);
    const bool first = said().why.empty();
    if (first) said().why = why;
    spdlog::log(first ? spdlog::level::warn : spdlog::level::info, "{} cannot be kept for the next start: {}", what,
                why);
  } catch (const std::exception&) {
    // There is no memory for a sentence, so none is logged.
  }
}

std::string not_kept() noexcept {
  const std::lock_guard lock(said().mutex);
  return said().why;
}

}  // namespace tandem::proof
