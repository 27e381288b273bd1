// Sorts a process's resident memory by whose it is: the model's file, drivers' libraries, the program, and
// everything else.
#include "bench/resident.h"

#include <cstdio>
#include <fstream>
#include <istream>

namespace tandem::bench {

// A mapping is a line with its addresses, and lines of sizes follow it.
std::vector<Mapping> read_mappings(std::istream& smaps) {
  std::vector<Mapping> found;
  for (std::string line; std::getline(smaps, line);) {
    size_t begin = 0, end = 0, kib = 0;
    int name_at = 0;
    // "7f00-7f10 r--p 00000000 fd:00 123   /lib/x.so": the name may be missing, and may contain blanks.
    if (std::sscanf(line.c_str(), "%zx-%zx %*4s %*x %*x:%*x %*u %n", &begin, &end, &name_at) == 2 && name_at > 0) {
      found.push_back({line.substr(static_cast<size_t>(name_at)), 0});
    } else if (!found.empty() && std::sscanf(line.c_str(), "Rss: %zu kB", &kib) == 1) {
      found.back().resident_bytes = kib * 1024;
    }
  }
  return found;
}

std::set<std::string> files_of(const std::vector<Mapping>& mappings) {
  std::set<std::string> files;
  for (const Mapping& mapping : mappings) {
    if (mapping.is_file()) files.insert(mapping.name);
  }
  return files;
}

// Files that were mapped before the engine was opened are the program's. Files that came later, but for the model's,
// are drivers.
Resident sort_out(const std::vector<Mapping>& mappings, const std::set<std::string>& files_before,
                  const std::string& model_path) {
  Resident sums;
  for (const Mapping& mapping : mappings) {
    size_t& sum = !mapping.is_file()                    ? sums.memory
                  : mapping.name == model_path          ? sums.model_file
                  : files_before.contains(mapping.name) ? sums.program
                                                        : sums.drivers;
    sum += mapping.resident_bytes;
  }
  return sums;
}

size_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  size_t kib = 0;
  for (std::string line; std::getline(status, line);) {
    if (std::sscanf(line.c_str(), "VmHWM: %zu kB", &kib) == 1) break;
  }
  return kib * 1024;
}

}  // namespace tandem::bench
