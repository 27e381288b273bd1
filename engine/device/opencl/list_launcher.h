// The launcher of one-token passes on a CPU device: a whole batch of programs, waits and signals becomes one launch of
// the list kernel (kernels/list.cl). Everything else goes through the gate launcher, in the same in-order queue.
//
// Contract: as Launcher. The first batch with a set of kernels that no list had before compiles a list kernel for it
// (seconds; PoCL keeps the result on disk). While spans are recorded, lists are run by a kernel that stamps their parts
// (list_stamps.h); where the device cannot, programs are launched kernel by kernel, because time can only be read
// between launches then. So is a program launched outside a batch, for it would gain nothing. Kernel objects of such
// programs are made by their first launch. With a doorbell (--sync doorbell) the list kernel stays for a while after a
// list and takes the next one from shared memory; anything else that is launched sends it away first.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/device/opencl/gate_launcher.h"
#include "engine/device/opencl/gates.h"
#include "engine/device/opencl/launcher.h"
#include "engine/device/opencl/list_doorbell.h"
#include "engine/device/opencl/list_source.h"
#include "engine/device/opencl/list_stamps.h"
#include "engine/device/opencl/prepared.h"

namespace tandem::opencl {

class ListLauncher final : public Launcher {
 public:
  ListLauncher(cl::CommandQueue queue, Gates& gates, SpanRecorder& spans, ProgramCache& programs, SlotMemory& memory,
               sync::Pool& pool, Preparer& preparer, ListVariants& variants, std::string id, bool list_single_programs,
               bool stays, bool can_stamp);
  ~ListLauncher() override;
  void launch(std::shared_ptr<Prepared> program, std::span<const sync::WaitFor> waits, sync::Signal signal) override;
  void batch(bool open) override;
  void finish(std::chrono::milliseconds deadline) override;
  uint32_t posted() const { return posted_; }  // lists that a resident kernel took over

 private:
  // One list in flight: entries in shared memory, and the programs it keeps alive. Its first 64 bytes hold the done
  // word.
  struct List {
    sync::Slot* slot = nullptr;
    std::vector<std::shared_ptr<Prepared>> programs;
    std::set<uint64_t> variants;  // that they use
    uint32_t count = 0, serial = 0;
    std::shared_ptr<StampedList> stamps;  // while spans are recorded
  };
  static constexpr size_t kEntries = 4096;

  bool can_list(const Prepared& program) const;
  List& open_list();
  std::shared_ptr<StampedList> free_stamps();
  void append(uint64_t kind, uint64_t address, uint64_t epoch, uint64_t serial);
  void submit();
  bool post(const List& list);
  void enqueue(const List& list);
  cl::Kernel& kernel_for(const std::set<uint64_t>& variants, bool stamped);

  cl::CommandQueue queue_;
  Gates& gates_;
  SpanRecorder& spans_;
  ProgramCache& programs_;
  SlotMemory& memory_;
  Preparer& preparer_;
  ListVariants& variants_;
  std::string id_;
  GateLauncher gate_launcher_;
  std::map<std::pair<std::vector<uint64_t>, bool>, cl::Kernel> kernels_;  // by the variants they know, and stamping
  ListDoorbell doorbell_;
  bool stays_;
  std::set<uint64_t> resident_variants_;  // that the kernel launched last knows
  sync::Pool& pool_;
  bool can_stamp_;
  std::vector<std::shared_ptr<StampedList>> stamps_;  // those that the recorder does not hold are free
  std::deque<List> lists_;                            // as many as were ever in flight at once
  List* current_ = nullptr;                           // being filled
  bool batching_ = false, list_single_programs_;
  uint32_t serial_ = 0, posted_ = 0;
};

}  // namespace tandem::opencl
