// The launcher of passes of one token or a few on a CPU device. One launch of the list kernel (kernels/list.cl) runs a
// whole series of programs, waits and signals.
//
// Everything else goes through the gate launcher, in the same in-order queue.
//
// Contract: as Launcher. A series that is launched again and again becomes a list once (make_list), and each launch has
// a base for its epochs. A batch becomes a list of its own.
//   The first list with new kernels compiles a list kernel for its set, which takes seconds; the result is kept on
//   disk. Lists with a part of the set use the same list kernel. So it pays to make the list of a whole model first.
//   While spans are recorded, that kernel stamps the parts of its lists (list_stamps.h). If the device cannot stamp,
//   programs are launched kernel by kernel, because time can only be read between launches then.
//   A program launched outside a batch is launched kernel by kernel too, because a list would gain nothing. The kernel
//   objects of such programs are made by their first launch.
//   With a doorbell (--sync doorbell) the list kernel stays for a while after a list and takes the next one from shared
//   memory. Any other launch sends it away first.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/opencl/gate_launcher.h"
#include "engine/device/opencl/gates.h"
#include "engine/device/opencl/launcher.h"
#include "engine/device/opencl/list_doorbell.h"
#include "engine/device/opencl/list_source.h"
#include "engine/device/opencl/list_stamps.h"
#include "engine/device/opencl/prepared.h"
#include "engine/device/opencl/program_list.h"

namespace tandem::opencl {

class ListLauncher final : public Launcher {
 public:
  ListLauncher(cl::CommandQueue queue, Gates& gates, SpanRecorder& spans, ProgramCache& programs, SlotMemory& memory,
               sync::Pool& pool, Preparer& preparer, ListVariants& variants, std::string id, bool list_single_programs,
               bool stays, bool can_stamp);
  ~ListLauncher() override;
  void launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits, sync::Signal signal) override;
  // nullptr: some of these programs cannot be listed.
  std::shared_ptr<const ProgramList> make_list(std::span<const ListedLaunch> launches) const;
  // Compiles the list's kernel now, and not at the list's first launch. If the driver's compiler does not survive that,
  // all programs are launched one by one from then on.
  void compile(const ProgramList& list);
  // False: spans are recorded and the device cannot stamp lists. The caller launches the programs one by one.
  bool launch(const std::shared_ptr<const ProgramList>& list, uint32_t base);
  void batch(bool open) override;
  void finish(std::chrono::milliseconds deadline) override;
  uint32_t posted() const { return posted_; }  // lists that a resident kernel took over

 private:
  bool takes_lists() const { return (!spans_.recording() || can_stamp_) && !lists_are_fatal_; }
  void submit_batch();
  void submit(std::shared_ptr<const ProgramList> list, uint32_t base);
  bool post(const ProgramList& list, uint32_t base, uint32_t serial);
  void enqueue(const std::shared_ptr<const ProgramList>& list, uint32_t base, uint32_t serial);
  void enqueue(cl::Kernel& kernel, uint64_t address, uint32_t base, uint32_t serial);
  cl_ulong stay_looks() const { return stays_ ? doorbell_.idle_looks() : 0; }
  uint32_t keep(std::shared_ptr<const ProgramList> list);
  std::shared_ptr<StampedList> free_stamps(const ProgramList& list);
  const std::vector<uint64_t>& set_for(const std::vector<uint64_t>& variants);
  cl::Kernel& kernel_for(const std::vector<uint64_t>& variants);
  void set_buffer(cl::Kernel& kernel, cl_uint index, const sync::Slot& slot);

  cl::CommandQueue queue_;
  Gates& gates_;
  SpanRecorder& spans_;
  ProgramCache& programs_;
  SlotMemory& memory_;
  sync::Pool& pool_;
  Preparer& preparer_;
  ListVariants& variants_;
  std::string id_;
  sync::Slot& done_;  // serial number of the last list that has ended; lists end in order
  std::vector<std::shared_ptr<StampedList>> stamps_;  // a place is free if only this vector holds it
  std::deque<std::pair<uint32_t, std::shared_ptr<const ProgramList>>> in_flight_;  // by serial number
  GateLauncher gate_launcher_;              // its destructor finishes the queue, which uses all members above
  std::deque<std::vector<uint64_t>> sets_;  // variants in rising order; no set is part of an earlier one
  std::map<std::vector<uint64_t>, cl::Kernel> kernels_;  // by the set of variants that each one knows
  ListDoorbell doorbell_;
  bool list_single_programs_, stays_, can_stamp_;
  bool lists_are_fatal_ = false;             // compiling a list kernel ends a process, so there are no lists
  std::vector<uint64_t> resident_variants_;  // variants that the kernel launched last knows
  std::vector<ListedLaunch> batch_;          // not submitted yet
  bool batching_ = false;
  uint32_t serial_ = 0, posted_ = 0;
};

}  // namespace tandem::opencl
