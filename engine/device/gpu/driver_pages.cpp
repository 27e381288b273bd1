#include "engine/device/gpu/driver_pages.h"

#include <sys/mman.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

namespace tandem::gpu {
namespace {

constexpr size_t kWorthwhileBytes = size_t{1} << 20;

// One entry of /proc/self/smaps.
struct Mapping {
  uintptr_t begin = 0, end = 0;
  bool writable = false;
  std::string file;  // empty: memory without one
  size_t resident_bytes = 0, own_bytes = 0;
};

std::vector<Mapping> mappings() {
  std::vector<Mapping> found;
  std::ifstream smaps("/proc/self/smaps");
  for (std::string line; std::getline(smaps, line);) {
    Mapping mapping;
    char access[5] = "";
    size_t kib = 0;
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

}  // namespace

DriverPages::DriverPages() {
  for (const Mapping& mapping : mappings()) known_.insert(mapping.file);
}

size_t DriverPages::give_back() const {
  size_t bytes = 0;
  for (const Mapping& mapping : mappings()) {
    if (mapping.writable || mapping.own_bytes > 0 || mapping.resident_bytes < kWorthwhileBytes) continue;
    if (mapping.file.empty() || known_.contains(mapping.file)) continue;
    // A wish: a mapping that the system will not drop stays as it is.
    if (madvise(reinterpret_cast<void*>(mapping.begin), mapping.end - mapping.begin, MADV_DONTNEED) == 0)
      bytes += mapping.resident_bytes;
  }
  return bytes;
}

}  // namespace tandem::gpu
