// Builds programs from kernel sources, once for each (source, options), or loads what an earlier run has compiled.
//
// Contract: kernel() makes a new kernel object of a cached program. lend() returns one that may have been used before
// and still has its old arguments. Error with the compiler's log when the build fails.
//   A child process builds each program first, unless the build is known to go well (program_trials.h).
//   The destructor keeps the compiled form of programs that were built from source, as far as keep() allows. PoCL
//   compiles each of their kernels once more for that: 10 to 18 s in all on a slow machine. Nothing is kept while the
//   process ends.
//   on_long_work is called before the first build of a program that no file holds, and before keeping.
//   Threads: one; lent kernels may be dropped by any. Ownership: the cache keeps every program until it is destroyed.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/device/device_factory.h"
#include "engine/device/opencl/cl.h"
#include "engine/device/opencl/program_files.h"
#include "engine/device/opencl/program_trials.h"

namespace tandem::opencl {

// The text of common.cl and then the source. Each line `#include "stem.cl"` is replaced by that file, since there are
// no files at run time.
std::string assemble_source(std::string_view stem);

// The source alone, with its includes replaced.
std::string expand_source(std::string_view stem);

// Kernel objects of one kernel that no program uses now. Threads: any.
class FreeKernels {
 public:
  std::optional<cl::Kernel> take();
  void put(cl::Kernel kernel);

 private:
  std::mutex mutex_;
  std::vector<cl::Kernel> kernels_;
};

// A kernel object that returns to its home when it is destroyed. The next program that needs such a kernel gets it from
// there. PoCL searches all kernels of a program to release one of them. This search took a quarter of the time in which
// a prompt of a new length got ready.
class LentKernel {
 public:
  LentKernel(cl::Kernel kernel, std::shared_ptr<FreeKernels> home)
      : kernel_(std::move(kernel)), home_(std::move(home)) {}
  ~LentKernel() {
    if (home_) home_->put(std::move(kernel_));
  }
  LentKernel(LentKernel&&) noexcept = default;
  LentKernel(const LentKernel&) = delete;
  LentKernel& operator=(const LentKernel&) = delete;
  cl::Kernel& get() { return kernel_; }
  const cl::Kernel& get() const { return kernel_; }
  const FreeKernels* home() const { return home_.get(); }  // the same for all objects of one kernel of one program

 private:
  cl::Kernel kernel_;
  std::shared_ptr<FreeKernels> home_;
};

// Compares arrays of strings with arrays of views, so that a search copies no text.
struct LessText {
  using is_transparent = void;
  bool operator()(const auto& a, const auto& b) const { return std::ranges::lexicographical_compare(a, b); }
};

// Programs that the driver may be asked for in their compiled form. no_assembly: only those without inline assembly.
enum class Keeps { all, no_assembly, none };

class ProgramCache {
 public:
  // tell: gets "built KEY" for every program that was built from source; nullptr: it is not called.
  explicit ProgramCache(Handle handle, ProgramFiles files = {}, OnLongWork on_long_work = {},
                        std::function<void(const std::string&)> tell = nullptr)
      : handle_(std::move(handle)),
        files_(std::move(files)),
        on_long_work_(std::move(on_long_work)),
        tell_(std::move(tell)),
        trials_(std::make_unique<ProgramTrials>(handle_, files_.folder())) {}
  ~ProgramCache();
  ProgramCache(ProgramCache&&) = default;
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;
  cl::Kernel kernel(const std::string& source, const std::string& kernel, const std::string& options);
  LentKernel lend(const std::string& source, const std::string& kernel, const std::string& options);
  // A kernel of `stem`.cl, with common.cl and generated text in front. It is not cached. trial: arguments and grid of
  // its first launch in a child.
  cl::Kernel generated_kernel(const std::string& stem, const std::string& generated, const std::string& options,
                              ProgramJob trial);
  const Handle& handle() const { return handle_; }
  // Call it before the first launch of a kernel of this program: a child tries the launch, if that is necessary.
  // complete: makes the job, all but its program.
  void try_launch(const std::string& source, const std::string& options, const std::function<ProgramJob()>& complete);
  void keep(Keeps which) { keeps_ = which; }
  // Asks the driver for the compiled form of a program, as keeping it does. Some drivers end the process at that, so a
  // child calls this first.
  void ask_for_compiled(const std::string& source, const std::string& options);

 private:
  struct Built {
    cl::Program program;
    bool kept = false;  // built from its kept form, not from source
    uint64_t key = 0;   // key of its build (program_job.h)
  };
  Built build(const std::string& text, const std::string& object, const std::string& options);
  std::optional<cl::Program> kept(const std::string& text, const std::string& options);
  std::string all_options(const std::string& options) const;
  const Built& program(const std::string& source, const std::string& options);

  struct Unkept {
    cl::Program program;
    std::string text, options;
  };

  Handle handle_;
  ProgramFiles files_;
  OnLongWork on_long_work_;
  std::function<void(const std::string&)> tell_;
  std::unique_ptr<ProgramTrials> trials_;
  bool told_of_building_ = false;
  Keeps keeps_ = Keeps::all;
  std::vector<Unkept> unkept_;
  std::map<std::pair<std::string, std::string>, Built> programs_;
  std::map<std::array<std::string, 3>, std::shared_ptr<FreeKernels>, LessText> free_;  // by source, kernel, options
};

}  // namespace tandem::opencl
