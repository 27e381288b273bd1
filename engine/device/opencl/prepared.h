// A program that is ready to launch: kernel objects with their arguments, and the regions to copy if memory is
// not shared.
//
// Contract: Preparer makes programs, on one thread. A program may be launched again and again, also while an earlier
// launch runs. Ownership: a program keeps its kernel objects and borrows its slots.
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
#include "engine/device/gpu/fused.h"
#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/regions.h"
#include "engine/device/gpu/row_pieces.h"
#include "engine/device/gpu/scratch.h"
#include "engine/device/opencl/list_source.h"
#include "engine/device/opencl/memory.h"
#include "engine/device/opencl/program_cache.h"
#include "sync/duration_predictor.h"
#include "sync/waiter.h"

namespace tandem::opencl {

using gpu::KernelLaunch, gpu::LoweringContext;

// The kernel that puts panels of weights into pieces of rows. The launcher sets its offset and the number of panels.
struct Rearrangement {
  gpu::PanelRange range;
  KernelLaunch launch;
  LentKernel kernel;
};

struct Prepared {
  std::string name;    // first operator's (.. last's)
  std::string device;  // its device's id, for errors
  std::vector<KernelLaunch> launches;
  std::vector<int> operator_of;               // for each launch: index of the operator that its time counts for
  std::vector<LentKernel> kernels;            // one for each launch, made by bind()
  std::set<uint64_t> variants;                // variants that the records name
  bool listed = false;                        // it has records, so it can be part of a list
  std::vector<uint64_t> records;              // the launches, as the list kernel reads them (kernels/list.cl)
  gpu::CopiedRegions copied;                  // copied around a launch if memory is not shared
  std::vector<Rearrangement> rearrangements;  // behind the first copy of their weights
  uint64_t arranged_behind = 0;               // the launcher's count of uploads when they were last looked at
  sync::DurationPredictor flag_waits;         // used by the host launcher's thread
  const Program* owner = nullptr;             // identity in DeviceSpan; never dereferenced
};

class Preparer {
 public:
  // own_pool: for the device's own memory. variants: the list kernel's; nullptr: everything is launched kernel by
  // kernel. on_fatal: gets the reason before prepare() or bind() throws FatalProgram (proof/job_trials.h). They throw
  // it if the driver's compiler survives no form of a kernel.
  Preparer(ProgramCache& programs, SlotMemory& memory, sync::Pool& own_pool, LoweringContext context, bool warm_up,
           ListVariants* variants, std::function<void(const std::string&)> on_fatal);

  std::shared_ptr<Prepared> prepare(std::span<const Operator> operators, const KeptSlots& kept = {});
  // Makes the kernel objects that are not made yet. warm: launches each new variant once, on shadow memory, and waits
  // for it. Not allowed behind a gate that waits for a launch which this thread has yet to make.
  void bind(Prepared& prepared, bool warm);
  // on: from now on programs are bound when they are prepared, even if they could be listed. Programs that are not
  // bound yet are bound now. Call it while the device has no work.
  void bind_all(bool on);

 private:
  LentKernel bind_one(const KernelLaunch& launch, const std::string& program,
                      const std::function<cl::Buffer(const sync::Slot&)>& buffer_of);
  void warm_up(const KernelLaunch& launch, const LentKernel& made, const std::string& program, bool launched_here);
  // Binds the launch. If its kernel ends the driver's compiler, the launch becomes that of a simpler kernel.
  LentKernel bind_in_any_form(KernelLaunch& launch, const std::string& program, bool launched_here);
  void add_rearrangements(const Operator& op, Prepared& prepared);
  bool take_simpler_kernel(KernelLaunch& launch, const std::string& because);  // false: there is no simpler one

  ProgramCache& programs_;
  SlotMemory& memory_;
  gpu::Scratch scratch_;
  LoweringContext context_;
  const std::string byte_products_;  // the option with which kernels were built when the device was opened
  bool warm_up_;
  ListVariants* variants_;
  std::function<void(const std::string&)> on_fatal_;
  bool bind_all_ = false;
  void add_unbound(const std::shared_ptr<Prepared>& prepared);
  std::vector<std::weak_ptr<Prepared>> unbound_;
  size_t most_unbound_ = 64;
  // PoCL makes machine code once for each such variant.
  struct Variant {
    const FreeKernels* kernel;  // the place of its objects, one for each kernel of each program
    std::array<size_t, 3> local;
    std::array<bool, 3> many_groups;
    auto operator<=>(const Variant&) const = default;
  };
  cl::Buffer dummy_;          // bound for absent operands
  std::set<Variant> warmed_;  // variants whose machine code is known to exist
};

// Queues the kernels for the parts of the program's weights that are not in pieces of rows yet.
void enqueue_rearrangements(const cl::CommandQueue& queue, SlotMemory& memory, Prepared& prepared);

// Queues all kernels of the program. events: gets one event for each kernel, for the span recorder; nullptr: no events
// are made.
void enqueue_kernels(const cl::CommandQueue& queue, const Prepared& prepared, std::vector<cl::Event>* events);

}  // namespace tandem::opencl
