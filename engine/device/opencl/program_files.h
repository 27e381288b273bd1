// Compiled programs on disk, so that the next start need not even look at their sources: PoCL takes 18 ms to find in
// its own cache what a source was compiled to, and 1 ms to take the program itself.
//
// Contract
//   A file belongs to one source, its options, and the device and driver it was compiled by: its name is a hash of
//   them, its header another one, with the length and a checksum of what follows. load() gives the driver's data, or
//   nothing: what is absent, damaged or another's is left alone, with a log line for damage, and is never an error.
//   save() replaces the file whole or not at all. Threads: one; processes: any number, the last to save wins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/opencl/cl.h"

namespace tandem::opencl {

class ProgramFiles {
 public:
  ProgramFiles() = default;                                    // none
  ProgramFiles(std::string folder, const cl::Device& device);  // folder: empty for none

  bool kept() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }
  std::optional<std::vector<unsigned char>> load(const std::string& text, const std::string& options) const noexcept;
  // Why it could not be saved; empty: it is there.
  std::string save(const std::string& text, const std::string& options,
                   const std::vector<unsigned char>& program) const noexcept;
  std::string path(const std::string& text, const std::string& options) const;

 private:
  uint64_t key(uint64_t seed, const std::string& text, const std::string& options) const;

  std::string folder_, compiler_;  // compiler_: the device and driver, by name and version
};

}  // namespace tandem::opencl
