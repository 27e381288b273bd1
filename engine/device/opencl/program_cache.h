// Builds kernel sources, once per (source, options).
//
// Contract: kernel() gives a new kernel object of a cached program; Error with the compiler's log when the build fails.
//   Threads: one. Ownership: keeps every program until it is destroyed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "engine/device/opencl/cl.h"

namespace tandem::opencl {

// common.cl, then the source, with every line `#include "stem.cl"` replaced by that file: there are no files at run
// time.
std::string assemble_source(std::string_view stem);

// The source alone, its includes replaced.
std::string expand_source(std::string_view stem);

class ProgramCache {
 public:
  explicit ProgramCache(Handle handle) : handle_(std::move(handle)) {}
  cl::Kernel kernel(const std::string& source, const std::string& kernel, const std::string& options);
  // A kernel of `stem`.cl behind common.cl and generated text; not cached.
  cl::Kernel generated_kernel(const std::string& stem, const std::string& generated, const std::string& options);
  const Handle& handle() const { return handle_; }

 private:
  cl::Program build(const std::string& text, const std::string& object, const std::string& options) const;
  const cl::Program& program(const std::string& source, const std::string& options);

  Handle handle_;
  std::map<std::pair<std::string, std::string>, cl::Program> programs_;
};

}  // namespace tandem::opencl
