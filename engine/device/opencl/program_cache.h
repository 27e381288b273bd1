// Builds kernel sources, once per (source, options), or takes what an earlier run kept of them.
//
// Contract: kernel() gives a new kernel object of a cached program; Error with the compiler's log when the build fails.
//   What was built from its source is kept when the cache is destroyed (PoCL compiles each of its kernels once more for
//   that: 10 to 18 s in all on a slow machine), but not while the process ends. on_long_work is told before the first
//   build from source, and before keeping.
//   Threads: one. Ownership: keeps every program until it is destroyed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/device/opencl/cl.h"
#include "engine/device/opencl/program_files.h"
#include "engine/device/registry.h"

namespace tandem::opencl {

// common.cl, then the source, with every line `#include "stem.cl"` replaced by that file: there are no files at run
// time.
std::string assemble_source(std::string_view stem);

// The source alone, its includes replaced.
std::string expand_source(std::string_view stem);

class ProgramCache {
 public:
  explicit ProgramCache(Handle handle, ProgramFiles files = {}, OnLongWork on_long_work = {})
      : handle_(std::move(handle)), files_(std::move(files)), on_long_work_(std::move(on_long_work)) {}
  ~ProgramCache();
  ProgramCache(ProgramCache&&) = default;
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;
  cl::Kernel kernel(const std::string& source, const std::string& kernel, const std::string& options);
  // A kernel of `stem`.cl behind common.cl and generated text; not cached.
  cl::Kernel generated_kernel(const std::string& stem, const std::string& generated, const std::string& options);
  const Handle& handle() const { return handle_; }

 private:
  cl::Program build(const std::string& text, const std::string& object, const std::string& options);
  std::optional<cl::Program> kept(const std::string& text, const std::string& options) const;
  const cl::Program& program(const std::string& source, const std::string& options);

  struct Unkept {
    cl::Program program;
    std::string text, options;
  };

  Handle handle_;
  ProgramFiles files_;
  OnLongWork on_long_work_;
  bool told_of_building_ = false;
  std::vector<Unkept> unkept_;
  std::map<std::pair<std::string, std::string>, cl::Program> programs_;
};

}  // namespace tandem::opencl
