// How much of a mapped file is in this process's memory, from /proc/self/smaps. mincore() would also count the
// page cache.
#pragma once

#include <cstdio>
#include <fstream>
#include <string>

namespace tandem::testing {

// The resident bytes of the mappings whose line holds `path`.
inline size_t resident_bytes_of(const std::string& path) {
  std::ifstream smaps("/proc/self/smaps");
  bool here = false;
  size_t kib = 0, total = 0;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ')) here = line.find(path) != std::string::npos;
    if (here && std::sscanf(line.c_str(), "Rss: %zu", &kib) == 1) total += kib * 1024;
  }
  return total;
}

}  // namespace tandem::testing
