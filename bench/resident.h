// Sorts the resident memory of a process by its use: the kernel's list of mappings becomes a few sums.
//
// Contract: read_mappings() understands /proc/PID/smaps; sort_out() is pure. Bytes are resident bytes.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

namespace tandem::bench {

struct Mapping {
  std::string name;  // a file, "[heap]", or "" for memory without a name
  size_t resident_bytes = 0;
  bool is_file() const { return name.starts_with('/'); }
};

struct Resident {
  size_t model_file = 0;
  size_t drivers = 0;  // libraries that were mapped after `before` was taken: code and their own data
  size_t program = 0;  // the program and the libraries that it started with
  size_t memory = 0;   // memory without a file: weights, caches, activations, heap, stacks
  size_t total() const { return model_file + drivers + program + memory; }
};

std::vector<Mapping> read_mappings(std::istream& smaps);
std::set<std::string> files_of(const std::vector<Mapping>& mappings);
Resident sort_out(const std::vector<Mapping>& mappings, const std::set<std::string>& files_before,
                  const std::string& model_path);

size_t peak_bytes();  // of this process so far; 0 if the system does not say

}  // namespace tandem::bench
