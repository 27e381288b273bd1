// Builds kernel sources, once per (source, options), or takes what an earlier run kept of them.
//
// Contract: kernel() gives a new kernel object of a cached program, lend() one that may have been lent before, with
//   arguments of then; Error with the compiler's log when the build fails.
//   A child process builds each program first, where it is not known to survive that (program_trials.h).
//   What was built from its source is kept when the cache is destroyed (PoCL compiles each of its kernels once more for
//   that: 10 to 18 s in all on a slow machine), but not while the process ends, and no more than keep() allows.
//   on_long_work is told before the first build of what no file has, and before keeping.
//   Threads: one; lent kernels may be dropped by any. Ownership: keeps every program until it is destroyed.
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

// common.cl, then the source, with every line `#include "stem.cl"` replaced by that file: there are no files at run
// time.
std::string assemble_source(std::string_view stem);

// The source alone, its includes replaced.
std::string expand_source(std::string_view stem);

// Kernel objects of one kernel that nobody uses.
class FreeKernels {
 public:
  std::optional<cl::Kernel> take();
  void put(cl::Kernel kernel);

 private:
  std::mutex mutex_;
  std::vector<cl::Kernel> kernels_;
};

// A kernel object that the next one who needs such a kernel takes over: PoCL looks through all kernels of a program to
// drop one of them, which was a quarter of the time that a prompt of a new length took to get ready.
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

// Compares arrays of strings with such of views, so that looking one up copies no text.
struct LessText {
  using is_transparent = void;
  bool operator()(const auto& a, const auto& b) const { return std::ranges::lexicographical_compare(a, b); }
};

// Which programs a driver may be asked for in their compiled form.
enum class Keeps { all, no_assembly, none };  // no_assembly: none whose source has inline assembly

class ProgramCache {
 public:
  // tell: is told "built KEY" of every program that was built from its source; nullptr: nobody is.
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
  // A kernel of `stem`.cl behind common.cl and generated text; not cached. trial: its arguments and its grid for a
  // first launch.
  cl::Kernel generated_kernel(const std::string& stem, const std::string& generated, const std::string& options,
                              ProgramJob trial);
  const Handle& handle() const { return handle_; }
  // Before the first launch of a kernel of such a program: the launch is tried in a child where that is wanted.
  // `complete` fills in all but the program.
  void try_launch(const std::string& source, const std::string& options, const std::function<ProgramJob()>& complete);
  void keep(Keeps which) { keeps_ = which; }
  // Asks for the compiled form of such a program, as is done when it is kept. What the driver does then is the answer.
  void ask_for_compiled(const std::string& source, const std::string& options);

 private:
  struct Built {
    cl::Program program;
    bool kept = false;  // from its file
    uint64_t key = 0;   // of its build (program_job.h)
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
