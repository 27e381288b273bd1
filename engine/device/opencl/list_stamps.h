// When each part of a list ran: the list kernel writes the processor's cycle counter at its start, behind every wait
// and behind every record (kernels/list.cl, STAMPS), and the host makes spans of it. So a recorded pass is the very
// launch that runs when nothing is recorded, of the same kernel: a second one would be compiled and loaded when a pass
// is measured for the first time, which is a text's second token.
//
// Contract: only where cycle_stamps_proven(). Threads: the kernel writes, one host thread reads. Ownership: borrows its
// slot and the device's done word, keeps its list.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/lab/lab.h"
#include "engine/device/opencl/program_cache.h"
#include "engine/device/opencl/program_list.h"
#include "sync/cycle_line.h"
#include "sync/flag.h"
#include "sync/pool.h"

namespace tandem::opencl {

class StampedList {
 public:
  explicit StampedList(sync::Slot& slot) : slot_(&slot) {}
  static size_t bytes_for(const ProgramList& list) { return (1 + list.parts().size()) * sizeof(uint64_t); }
  size_t bytes() const { return slot_->size_bytes(); }
  uint64_t address() const { return reinterpret_cast<uintptr_t>(slot_->data()); }  // of the first stamp

  // Before the launch: no stamp is written yet. The slot has bytes_for(list); done reaches serial when it has ended.
  void arm(std::shared_ptr<const ProgramList> list, const sync::FlagLine& done, uint32_t serial);

  bool ended() const;  // every stamp is written, or will not be
  // Spans of the records that ran. The line has ties of moments before the list began and after it ended.
  std::vector<DeviceSpan> spans(const sync::CycleLine& clock) const;

 private:
  uint64_t stamp(size_t index) const;  // 0: not written

  sync::Slot* slot_;
  std::shared_ptr<const ProgramList> list_;
  const sync::FlagLine* done_ = nullptr;
  uint32_t serial_ = 0;
};

// Whether kernels on this device can read the counter that the host reads. False where the device's compiler does not
// take the instruction, and where the counter is none to measure with (sync/cycle_clock.h).
bool cycle_stamps_proven(ProgramCache& programs, const cl::CommandQueue& queue);

}  // namespace tandem::opencl
