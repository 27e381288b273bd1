// Compiled programs on disk, so that the next start needs no compiler. PoCL takes 18 ms to find a source's compiled
// form in its own cache. It takes 1 ms to load the compiled form itself.
//
// Contract
//   A file belongs to one source, its options, and the device and driver that compiled it. Its name is a hash of all of
//   them. Its header holds another hash of them, and the length and a checksum of the content.
//   load() returns the driver's data, or nothing. A file that is absent, damaged or another program's is left alone and
//   is never an error. Damage is logged.
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
  ProgramFiles() = default;                                    // keeps nothing
  ProgramFiles(std::string folder, const cl::Device& device);  // folder: "" keeps nothing

  bool kept() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }
  std::optional<std::vector<unsigned char>> load(const std::string& text, const std::string& options) const noexcept;
  // Why the program could not be saved; "": it was saved.
  std::string save(const std::string& text, const std::string& options,
                   const std::vector<unsigned char>& program) const noexcept;
  std::string path(const std::string& text, const std::string& options) const;

 private:
  uint64_t key(uint64_t seed, const std::string& text, const std::string& options) const;

  std::string folder_, compiler_;  // compiler_: the device and driver, by name and version
};

}  // namespace tandem::opencl
