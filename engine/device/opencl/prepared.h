// A program with everything bound: kernel objects, their arguments, and the regions to copy where memory is not shared.
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/regions.h"
#include "engine/device/gpu/scratch.h"
#include "engine/device/opencl/list_source.h"
#include "engine/device/opencl/memory.h"
#include "engine/device/opencl/program_cache.h"
#include "sync/duration_predictor.h"
#include "sync/waiter.h"

namespace tandem::opencl {

using gpu::KernelLaunch, gpu::LoweringContext;

struct Prepared {
  std::string name;    // first operator's (.. last's)
  std::string device;  // its id, for errors
  std::vector<KernelLaunch> launches;
  std::vector<int> operator_of;        // of each launch: index of the operator it is part of
  std::vector<LentKernel> kernels;     // one for each launch, made by bind()
  std::set<uint64_t> variants;         // that the records name
  bool listed = false;                 // can be a part of a list: it has records; else it is launched kernel by kernel
  std::vector<uint64_t> records;       // the launches as the list kernel reads them (kernels/list.cl)
  gpu::CopiedRegions copied;           // memory not shared
  sync::DurationPredictor flag_waits;  // of the host launcher's thread
  const Program* owner = nullptr;      // identity in DeviceSpan; never dereferenced
};

class Preparer {
 public:
  // own_pool: for memory of the device's own. variants: of the list kernel; nullptr: everything is launched kernel by
  // kernel. on_fatal: gets the reason before prepare() or bind() throws FatalProgram (proof/job_trials.h), which
  // they do where no form of a kernel is left that the driver's compiler survives.
  Preparer(ProgramCache& programs, SlotMemory& memory, sync::Pool& own_pool, LoweringContext context, bool warm_up,
           ListVariants* variants, std::function<void(const std::string&)> on_fatal);

  std::shared_ptr<Prepared> prepare(std::span<const Operator> operators);
  // Makes kernel objects, where they are not made yet. warm: launches each new variant once, on shadow memory, and
  // waits for it; never behind a gate that waits for what this thread has yet to launch.
  void bind(Prepared& prepared, bool warm);
  // From now on programs are bound when they are prepared, also those that could be listed; what is not bound yet is
  // now. Call while the device has no work.
  void bind_all(bool on);

 private:
  LentKernel bind_one(const KernelLaunch& launch, const std::string& program,
                      const std::function<cl::Buffer(const sync::Slot&)>& buffer_of);
  void warm_up(const KernelLaunch& launch, const LentKernel& made, const std::string& program, bool launched_here);
  // The launch becomes that of a simpler kernel, if its own kernel ends the driver's compiler.
  LentKernel bind_in_any_form(KernelLaunch& launch, const std::string& program, bool launched_here);
  bool take_simpler_kernel(KernelLaunch& launch, const std::string& because);  // false: there is none

  ProgramCache& programs_;
  SlotMemory& memory_;
  gpu::Scratch scratch_;
  LoweringContext context_;
  const std::string byte_products_;  // the option of the device's kernels when it was opened
  bool warm_up_;
  ListVariants* variants_;
  std::function<void(const std::string&)> on_fatal_;
  bool bind_all_ = false;
  std::vector<std::weak_ptr<Prepared>> unbound_;
  // What PoCL makes machine code for.
  struct Variant {
    const FreeKernels* kernel;  // its objects: one place for each kernel of each program
    std::array<size_t, 3> local;
    std::array<bool, 3> many_groups;
    auto operator<=>(const Variant&) const = default;
  };
  cl::Buffer dummy_;          // bound for absent operands
  std::set<Variant> warmed_;  // whose machine code is known to exist
};

// Queues all kernels of the program. Their events, one each, are wanted by the span recorder only; nullptr: by nobody.
void enqueue_kernels(const cl::CommandQueue& queue, const Prepared& prepared, std::vector<cl::Event>* events);

}  // namespace tandem::opencl
