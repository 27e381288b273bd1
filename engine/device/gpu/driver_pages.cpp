#include "engine/device/gpu/driver_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

namespace tandem::gpu {
namespace {

constexpr size_t kWorthwhileBytes = size_t{1} << 20;

// One entry of /proc/self/maps or /proc/self/smaps.
struct Mapping {
  uintptr_t begin = 0, end = 0;
  bool writable = false;
  std::string file;                          // empty: memory without a file
  size_t resident_bytes = 0, own_bytes = 0;  // only in smaps
};

// Reads one of the two tables. smaps makes the system look at every page of this process; maps does not.
std::vector<Mapping> mappings(const char* table) {
  std::vector<Mapping> found;
  std::ifstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    Mapping mapping;
    char access[5] = "";
    size_t kib = 0;
    // The first line of an entry holds its addresses and access. In smaps, lines with sizes follow it.
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &mapping.begin, &mapping.end, access) == 3) {
      mapping.writable = access[1] == 'w';
      if (const size_t slash = line.find('/'); slash != std::string::npos) mapping.file = line.substr(slash);
      found.push_back(std::move(mapping));
    } else if (!found.empty() && std::sscanf(line.c_str(), "Rss: %zu", &kib) == 1) {
      found.back().resident_bytes = kib * 1024;
    } else if (!found.empty() && std::sscanf(line.c_str(), "Anonymous: %zu", &kib) == 1) {
      found.back().own_bytes = kib * 1024;
    }
  }
  return found;
}

// A mapping has the code of this program if it contains this address.
const char kOwnAddress = 0;
bool is_own(const Mapping& mapping) {
  const auto address = reinterpret_cast<uintptr_t>(&kOwnAddress);
  return mapping.begin <= address && address < mapping.end;
}

}  // namespace

DriverPages::DriverPages() {
  std::string own;
  for (const Mapping& mapping : mappings("/proc/self/maps")) {
    known_.insert(mapping.file);
    if (is_own(mapping)) own = mapping.file;
  }
  known_.erase(own);
}

// Reads the cheap table first, and smaps only when maps shows a mapping that may be dropped. A mapping with pages of
// its own stays, because their content cannot be read again from the file.
size_t DriverPages::give_back() const {
  const auto may_be_given = [&](const Mapping& mapping) {
    return !mapping.writable && !mapping.file.empty() && mapping.end - mapping.begin >= kWorthwhileBytes &&
           !known_.contains(mapping.file);
  };
  if (std::ranges::none_of(mappings("/proc/self/maps"), may_be_given)) return 0;
  size_t bytes = 0;
  for (const Mapping& mapping : mappings("/proc/self/smaps")) {
    if (!may_be_given(mapping) || mapping.own_bytes > 0 || mapping.resident_bytes < kWorthwhileBytes) continue;
    // If the system refuses, the mapping stays as it is.
    if (madvise(reinterpret_cast<void*>(mapping.begin), mapping.end - mapping.begin, MADV_DONTNEED) == 0)
      bytes += mapping.resident_bytes;
  }
  return bytes;
}

}  // namespace tandem::gpu
