#include "engine/device/opencl/program_cache.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#include "engine/device/gpu/kept_file.h"
#include "engine/device/proof/circumstances.h"
#include "engine/device/proof/room.h"
#include "kernels/kernels.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

// Set by an exit handler; see ~ProgramCache().
std::atomic<bool> process_ends = false;

// Appends an embedded source, with each include replaced by that source. Error when there is no such source.
void append_expanded(std::string_view stem, std::string& out) {
  constexpr std::string_view kInclude = "#include \"";
  const auto source = kernel_source(stem);
  if (!source) {
    throw Error("no such kernel source is embedded", std::string(stem) + ".cl",
                "Kernel sources live in kernels/; cmake finds new ones when it runs again");
  }
  std::string_view rest = *source;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const size_t suffix = line.find(".cl\"");
    if (line.starts_with(kInclude) && suffix != std::string_view::npos) {
      append_expanded(line.substr(kInclude.size(), suffix - kInclude.size()), out);
    } else {
      out.append(line).push_back('\n');
    }
  }
}

// A work-item of the simd family holds vectors of its own and is a work-group. This hint keeps compilers for CPUs from
// putting 16 of them side by side. Without it Intel's compiler made a second form of Q4_1's matmul_gemm that never ran.
// The second form had 1,440 scatters and took two thirds of the compiler's 10 s.
constexpr std::string_view kVectorsAlready = "#define __kernel __attribute__((vec_type_hint(float16))) __kernel\n";

// The driver's compiled form of a program; empty: the driver gives none.
std::vector<unsigned char> compiled(const cl::Program& program) {
  std::vector<std::vector<unsigned char>> binaries;
  if (program.getInfo(CL_PROGRAM_BINARIES, &binaries) != CL_SUCCESS || binaries.size() != 1) return {};
  return std::move(binaries.front());
}

bool may_be_kept(const std::string& text, Keeps keeps) {
  return keeps == Keeps::all || (keeps == Keeps::no_assembly && text.find("__asm__") == std::string::npos);
}

}  // namespace

// The text of a program: the common part, then the hint for simd kernels, then the kernel's own source.
std::string assemble_source(std::string_view stem) {
  std::string text;
  append_expanded("common", text);
  if (stem.ends_with("_simd")) text += kVectorsAlready;
  append_expanded(stem, text);
  return text;
}

std::string expand_source(std::string_view stem) {
  std::string text;
  append_expanded(stem, text);
  return text;
}

std::string ProgramCache::all_options(const std::string& options) const {
  // Every driver has OpenCL C 1.2. A variant may ask for another version.
  const std::string standard = options.find("-cl-std=") == std::string::npos ? "-cl-std=CL1.2 " : "";
  return standard + handle_.build_options + " " + options;
}

const ProgramCache::Built& ProgramCache::program(const std::string& source, const std::string& options) {
  const auto key = std::make_pair(source, options);
  if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
  const std::string object = source + ".cl (" + options + ") on " + handle_.id;
  const double start = now_seconds();
  const Built& built = programs_.emplace(key, build(assemble_source(source), object, options)).first->second;
  spdlog::debug("{} ready in {:.3f} s", object, now_seconds() - start);
  return built;
}

// While the process ends, the driver's compiler may be gone before the owner of this cache is destroyed. Then
// nothing is stored. The handler that notices the end is registered after the driver was loaded, so it runs before the
// driver's own.
ProgramCache::~ProgramCache() {
  if (process_ends) return;
  if (!trials_) return;  // moved from
  std::erase_if(unkept_, [&](const Unkept& one) { return !may_be_kept(one.text, keeps_); });
  if (!unkept_.empty() && on_long_work_) on_long_work_("keeping the compiled kernels for the next start");
  // The child asks the driver for the compiled forms, because some drivers die of that. Without a child this
  // process asks.
  if (trials_->tries()) {
    std::vector<ProgramText> texts;
    for (Unkept& one : unkept_) texts.push_back({std::move(one.text), std::move(one.options)});
    trials_->keep(texts);
    return;
  }
  for (const Unkept& one : unkept_) {
    const auto data = compiled(one.program);
    if (data.empty()) continue;
    if (const std::string why = files_.save(one.text, one.options, data); !why.empty())
      proof::say_not_kept("compiled OpenCL programs", why);
  }
}

void ProgramCache::ask_for_compiled(const std::string& source, const std::string& options) {
  compiled(program(source, options).program);
}

// Nothing: there is no file, or the driver refuses it. The program is then built from source.
std::optional<cl::Program> ProgramCache::kept(const std::string& text, const std::string& options) {
  const auto binary = files_.load(text, options);
  if (!binary) return std::nullopt;
  ProgramJob job;
  job.program = {text, options, true};
  trials_->require(job);
  cl_int code = CL_SUCCESS;
  cl::Program program(handle_.context, {handle_.device}, {*binary}, nullptr, &code);
  if (code != CL_SUCCESS || program.build(handle_.device, options.c_str()) != CL_SUCCESS) return std::nullopt;
  return program;
}

// Takes the kept form, if there is one. Otherwise a child builds the program, and this process builds it from source. A
// driver with a cache of its own loads then what it has compiled in the child.
ProgramCache::Built ProgramCache::build(const std::string& text, const std::string& object,
                                        const std::string& own_options) {
  const std::string options = all_options(own_options);
  if (const auto program = kept(text, options))
    return {*program, true, key_of(handle_.id, ProgramText{text, options, true})};
  ProgramJob job;
  job.program = {text, options, false};
  const uint64_t key = key_of(handle_.id, job.program);
  if (on_long_work_ && !trials_->kept_by_driver(key) && !std::exchange(told_of_building_, true))
    on_long_work_("compiling kernels for this device");
  trials_->require(job);
  cl_int code = CL_SUCCESS;
  cl::Program program(handle_.context, text, false, &code);
  check(code, "clCreateProgramWithSource", object);
  code = program.build(handle_.device, options.c_str());
  if (code != CL_SUCCESS) {
    std::string log;
    program.getBuildInfo(handle_.device, CL_PROGRAM_BUILD_LOG, &log);
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    // A driver that lacks room or memory says no more than that it failed.
    const proof::Want want = proof::want_behind({}, proof::written_folders());
    throw Error("clBuildProgram failed with " + code_name(code), object,
                "Build log: " + log + (want ? ". Perhaps because " + want.what + ". " + want.remedy : ""));
  }
  if (files_.kept()) {
    [[maybe_unused]] static const int registered = std::atexit([] { process_ends = true; });
    unkept_.push_back({program, text, options});
  }
  if (tell_) tell_("built " + std::to_string(key));
  return {program, false, key};
}

// The key is compared before the source is put together, because that is the fast and usual case.
void ProgramCache::try_launch(const std::string& source, const std::string& options,
                              const std::function<ProgramJob()>& complete) {
  if (!trials_->tries()) return;
  const Built& built = program(source, options);
  ProgramJob job = complete();
  job.task = ProgramJob::Task::launch;
  if (trials_->knows(key_of(built.key, job))) return;
  job.program = {assemble_source(source), all_options(options), built.kept};
  trials_->require(job);
}

// Builds the program and lets a child launch the kernel once, before the kernel object is made here.
cl::Kernel ProgramCache::generated_kernel(const std::string& stem, const std::string& generated,
                                          const std::string& options, ProgramJob trial) {
  const std::string object = stem + ".cl (generated) on " + handle_.id;
  const std::string text = expand_source("common") + generated + expand_source(stem);
  const Built built = build(text, object, options);
  trial.task = ProgramJob::Task::launch;
  trial.program = {text, all_options(options), built.kept};
  trial.kernel = stem;
  trials_->require(trial);
  cl_int code = CL_SUCCESS;
  cl::Kernel made(built.program, stem.c_str(), &code);
  check(code, "clCreateKernel", object);
  return made;
}

std::optional<cl::Kernel> FreeKernels::take() {
  std::lock_guard lock(mutex_);
  if (kernels_.empty()) return std::nullopt;
  cl::Kernel kernel = std::move(kernels_.back());
  kernels_.pop_back();
  return kernel;
}

void FreeKernels::put(cl::Kernel kernel) {
  std::lock_guard lock(mutex_);
  kernels_.push_back(std::move(kernel));
}

// Prefers an object that came back from an earlier program.
LentKernel ProgramCache::lend(const std::string& source, const std::string& kernel, const std::string& options) {
  auto found = free_.find(std::array<std::string_view, 3>{source, kernel, options});
  if (found == free_.end())
    found = free_.emplace(std::array{source, kernel, options}, std::make_shared<FreeKernels>()).first;
  const std::shared_ptr<FreeKernels>& home = found->second;
  if (auto free = home->take()) return {std::move(*free), home};
  return {this->kernel(source, kernel, options), home};
}

cl::Kernel ProgramCache::kernel(const std::string& source, const std::string& kernel, const std::string& options) {
  cl_int code = CL_SUCCESS;
  cl::Kernel made(program(source, options).program, kernel.c_str(), &code);
  check(code, "clCreateKernel", kernel + " of " + source + ".cl (" + options + ") on " + handle_.id);
  return made;
}

}  // namespace tandem::opencl
