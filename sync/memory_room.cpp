#include "sync/memory_room.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "sync/error.h"
#include "sync/whole_file.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

// Containers hide files of the system behind devices and folders, and then their limits are not known.
std::optional<std::string> text_in(const std::string& path) {
  try {
    return read_file_if_there(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Nothing: the file holds "max" or no number.
std::optional<uint64_t> number_in(const std::string& path) {
  const auto text = text_in(path);
  uint64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

// Reads a file of lines "name value" or "name: value kB"; values in kB become bytes.
std::map<std::string, uint64_t> numbers_in(const std::string& path) {
  std::map<std::string, uint64_t> numbers;
  std::istringstream lines(text_in(path).value_or(""));
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    uint64_t value = 0;
    if (!(words >> name >> value)) continue;
    if (name.ends_with(':')) name.pop_back();
    numbers[name] = line.ends_with(" kB") ? value * 1024 : value;
  }
  return numbers;
}

// Files of a control group. Their names differ between the two versions of control groups.
struct GroupFiles {
  const char *limit, *used, *cached[2];
};
constexpr GroupFiles kSecond = {"memory.max", "memory.current", {"inactive_file", "active_file"}};
constexpr GroupFiles kFirst = {
    "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};

void take_less(std::optional<MemoryRoom>& least, uint64_t bytes, const std::string& whose) {
  if (!least || bytes < least->bytes) least = MemoryRoom{bytes, whose};
}

// Takes the least room of a group and all groups above it, since a group's limit also holds for the groups below it.
// The room is the limit minus the memory in use; cached file pages do not count as in use, because the system may
// drop them.
void look_at_groups(const std::string& mount, fs::path group, const GroupFiles& files,
                    std::optional<MemoryRoom>& least) {
  while (true) {
    const std::string folder = mount + group.string() + "/";
    const auto limit = number_in(folder + files.limit), used = number_in(folder + files.used);
    if (limit && used) {
      auto kinds = numbers_in(folder + "memory.stat");
      const uint64_t kept = *used - std::min(*used, kinds[files.cached[0]] + kinds[files.cached[1]]);
      take_less(least, *limit - std::min(*limit, kept), "the control group " + group.string());
    }
    if (!group.has_relative_path()) return;
    group = group.parent_path();
  }
}

std::string megabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) * 1e-6);
  return text;
}

}  // namespace

// Each line of /proc/self/cgroup names one group of this process. Only a line without a controller name (version 2) or
// with "memory" (version 1) limits memory.
std::optional<MemoryRoom> group_room(const std::string& proc, const std::string& groups) {
  constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1 writes a number for "no limit"
  std::optional<MemoryRoom> least;
  std::istringstream lines(text_in(proc + "/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {  // "0::/box", "4:memory:/box"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    if (kind.empty()) look_at_groups(groups, group, kSecond, least);
    if (kind == "memory") look_at_groups(groups + "/memory", group, kFirst, least);
  }
  return least && least->bytes < kNoLimit ? least : std::nullopt;
}

bool groups_have_limits() {
  static const bool have = group_room().has_value();
  return have;
}

PromisedMemory::PromisedMemory(std::string proc, std::string groups)
    : proc_(std::move(proc)), groups_(std::move(groups)) {}

uint64_t PromisedMemory::written() const { return numbers_in(proc_ + "/self/status")["RssAnon"]; }

// A control group counts a page only after it was written, so promised pages are missing from its usage. The pages that
// this process has written since the first promise are taken off again. The room that remains serves the next promises
// without reading files.
void PromisedMemory::add(uint64_t bytes, const std::string& what) {
  constexpr uint64_t kBeside = uint64_t{8} << 20;  // for everything else that is written meanwhile
  const uint64_t promised = promised_ + bytes;
  // Reading the files takes a tenth of a millisecond, so they are read again only when half of the room is gone.
  if (bytes <= left_ / 2) {
    left_ -= bytes;
  } else if (const auto room = group_room(proc_, groups_)) {
    const uint64_t now = written();
    const uint64_t grown = now - std::min(now, written_before_.value_or(now));
    const uint64_t wanted = promised - std::min(promised, grown) + kBeside;
    require_memory(wanted, what, room);
    left_ = room->bytes - wanted;
    if (!written_before_) written_before_ = now;
  }
  promised_ = promised;
}

// The lesser of two limits: the room in the control groups, and what this machine has available with its free swap.
std::optional<MemoryRoom> memory_room(const std::string& proc, const std::string& groups) {
  std::optional<MemoryRoom> least = group_room(proc, groups);
  auto machine = numbers_in(proc + "/meminfo");
  if (machine.contains("MemAvailable")) take_less(least, machine["MemAvailable"] + machine["SwapFree"], "this machine");
  return least;
}

void require_memory(uint64_t bytes, const std::string& what, const std::optional<MemoryRoom>& room) {
  if (!room || bytes <= room->bytes) return;
  throw Error("out of memory: " + megabytes(bytes) + " wanted, and " + room->whose + " has " + megabytes(room->bytes),
              what, "Take a smaller model, or allow more memory");
}

}  // namespace tandem
