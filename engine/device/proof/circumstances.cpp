#include "engine/device/proof/circumstances.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/room.h"
#include "sync/memory_room.h"

namespace tandem::proof {
namespace {

// With less memory than this, a compiler and its libraries cannot work, and neither can a small model.
constexpr uint64_t kLittleMemory = uint64_t{256} << 20;
constexpr uint64_t kMostThatIsALimit = uint64_t{1} << 40;  // bytes; a larger limit counts as none

// PoCL, lavapipe and their libraries were seen to fail or to abort with less (docs/drivers.md). They
// take more address space with each core: both have a thread for each, with a stack and an arena of the allocator.
struct MemoryLimit {
  __rlimit_resource which;
  const char* name;
  uint64_t least_of_drivers, more_for_each_core;

  uint64_t least() const { return least_of_drivers + more_for_each_core * std::thread::hardware_concurrency(); }
};
constexpr MemoryLimit kMemoryLimits[] = {{RLIMIT_AS, "ulimit -v", uint64_t{768} << 20, uint64_t{128} << 20},
                                         {RLIMIT_DATA, "ulimit -d", uint64_t{256} << 20, 0}};

// With less in a control group, drivers are killed without a message. They were seen to write 25 to 40 MB.
constexpr uint64_t kLeastOfDriversInGroups = uint64_t{48} << 20;

std::string mebibytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// Nothing: the limit is infinite, or the system does not say.
std::optional<uint64_t> limit_of(__rlimit_resource which) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

// Whether `words` contains `text`, in any case of letters.
bool says(const std::string& words, const char* text) {
  const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  const std::string_view wanted = text;
  return std::search(words.begin(), words.end(), wanted.begin(), wanted.end(), same) != words.end();
}

// Recognises the system's own messages in the last words of a driver, and says which shortage they stand for.
Want want_by(const std::string& words) {
  for (const char* text : {"no space left", "disk quota exceeded", "file too large"})
    if (says(words, text)) return {"a file could not be written (" + words + ")", "Free some space on the disk"};
  for (const char* text : {"read-only file system", "permission denied", "operation not permitted"})
    if (says(words, text)) return {"a folder could not be used (" + words + ")", "Set XDG_CACHE_HOME to another one"};
  for (const char* text : {"cannot allocate memory", "out of memory", "not enough memory", "bad_alloc",
                           "cannot enable executable stack", "failed to map segment from shared object"})
    if (says(words, text)) return {"it had too little memory (" + words + ")", "Close other programs"};
  for (const char* text : {"too many open files", "resource temporarily unavailable"})
    if (says(words, text)) return {"a limit was reached (" + words + ")", "Raise it with ulimit"};
  return {};
}

// Limits of this process that make drivers fail: few files or processes, short files, little processor time,
// small stacks.
Want want_of_limits() {
  const std::array<std::pair<std::optional<uint64_t>, const char*>, 2> small = {
      {{limit_of(RLIMIT_NOFILE), "open files (ulimit -n)"}, {limit_of(RLIMIT_NPROC), "processes (ulimit -u)"}}};
  for (const auto& [limit, what] : small)
    if (limit && *limit < 64) return {std::string("there may be few ") + what, "Raise that limit"};
  if (limit_of(RLIMIT_FSIZE)) return {"files may not grow beyond a limit (ulimit -f)", "Raise that limit"};
  if (limit_of(RLIMIT_CPU)) return {"processor time is limited (ulimit -t)", "Raise that limit"};
  if (const auto stack = limit_of(RLIMIT_STACK); stack && *stack < (uint64_t{1} << 20))
    return {"stacks may have " + std::to_string(*stack >> 10) + " KiB only (ulimit -s)", "Raise that limit"};
  return {};
}

}  // namespace

Want want_of_room(const std::string& folder) {
  const std::string why = why_not_kept(folder);
  if (why.empty()) return {};
  return {why, "Free some space there, or set XDG_CACHE_HOME to another folder"};
}

// Limits of this process come first, then the memory that its control group or the machine has left.
Want want_of_memory() {
  for (const MemoryLimit& one : kMemoryLimits) {
    if (const auto limit = limit_of(one.which); limit && *limit < kMostThatIsALimit)
      return {"its memory is limited to " + mebibytes(*limit) + " (" + one.name + ")", "Raise that limit"};
  }
  if (const auto room = memory_room(); room && room->bytes < kLittleMemory)
    return {room->whose + " has " + mebibytes(room->bytes) + " of memory left",
            "Close other programs, or allow more memory"};
  return {};
}

// This is asked before drivers are loaded, because with too little memory they abort or are killed.
Want want_of_driver_memory() {
  for (const MemoryLimit& one : kMemoryLimits) {
    if (const auto limit = limit_of(one.which); limit && *limit < one.least())
      return {"drivers want " + mebibytes(one.least()) + " of memory, and " + one.name + " allows " + mebibytes(*limit),
              "Raise that limit"};
  }
  if (const auto room = group_room(); room && room->bytes < kLeastOfDriversInGroups)
    return {"drivers want " + mebibytes(kLeastOfDriversInGroups) + " of memory, and " + room->whose + " has " +
                mebibytes(room->bytes),
            "Raise its limit"};
  return {};
}

// Looks first at how the child ended, then at folders, memory and limits, and last at the child's last words.
Want want_behind(const ChildEnd& end, const std::vector<std::string>& folders) {
  if (end.well) return {};
  if (end.starved) return {"the machine was too busy to run it, or it was stopped", "Wait until less is going on"};
  if (end.by_others) return {"somebody else ended it, or the system did for want of memory", "Run it again"};
  for (const std::string& folder : folders)
    if (Want want = want_of_room(folder)) return want;
  if (Want want = want_of_memory()) return want;
  if (Want want = want_of_limits()) return want;
  return want_by(end.last_words);
}

// Facts that the system does not say are left out.
std::string circumstances(const std::vector<std::string>& folders) {
  std::ostringstream line;
  if (const auto room = memory_room()) line << mebibytes(room->bytes) << " of memory available";
  for (const std::string& folder : folders) {
    struct statvfs found {};
    if (statvfs(folder.c_str(), &found) == 0)
      line << "; " << mebibytes(uint64_t{found.f_bavail} * found.f_frsize) << " free in " << folder;
  }
  for (const auto& [which, what] :
       {std::pair{RLIMIT_AS, "ulimit -v"}, {RLIMIT_DATA, "ulimit -d"}, {RLIMIT_NOFILE, "ulimit -n"}}) {
    if (const auto limit = limit_of(which)) line << "; " << what << " " << *limit;
  }
  return line.str();
}

// The order in which PoCL itself looks for its folder.
std::string pocl_folder() {
  if (const char* own = std::getenv("POCL_CACHE_DIR"); own && *own) return own;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && *cache) return std::string(cache) + "/pocl/kcache";
  return home && *home ? std::string(home) + "/.cache/pocl/kcache" : "/tmp/pocl/kcache";
}

std::vector<std::string> written_folders() {
  std::vector<std::string> all = {pocl_folder()};
  if (const std::string own = gpu::default_cache_folder(); !own.empty()) all.push_back(own);
  all.push_back(temporary_folder());
  std::erase(all, "");
  return all;
}

}  // namespace tandem::proof
