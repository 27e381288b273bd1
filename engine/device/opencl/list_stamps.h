// Measures when each part of a list ran.
//
// The list kernel writes the processor's cycle counter at its start, after every wait and after every record
// (kernels/list.cl, STAMPS). The host makes spans of these stamps. So a recorded pass is the same launch of the same
// kernel as an unrecorded one. A second kernel would be compiled and loaded when a pass is measured for the first time,
// which is a text's second token.
//
// Contract: only if cycle_stamps_proven(). Threads: the kernel writes, and one host thread reads. Ownership: borrows
// its slot and the device's done word, and keeps its list.
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
  uint64_t address() const { return reinterpret_cast<uintptr_t>(slot_->data()); }  // address of the first stamp

  // Call it before the launch: clears all stamps. The slot must have room for bytes_for(list). `done` reaches `serial`
  // when the list has ended.
  void arm(std::shared_ptr<const ProgramList> list, const sync::FlagLine& done, uint32_t serial);

  bool ended() const;  // every stamp is written, or will not be written any more
  // Spans of the records that ran. The clock has a tie before the list began and one after it ended.
  std::vector<DeviceSpan> spans(const sync::CycleLine& clock) const;

 private:
  uint64_t stamp(size_t index) const;  // 0: not written

  sync::Slot* slot_;
  std::shared_ptr<const ProgramList> list_;
  const sync::FlagLine* done_ = nullptr;
  uint32_t serial_ = 0;
};

// Whether kernels on this device read the counter that the host reads. False if the device's compiler does not know the
// instruction, or if the counter cannot measure time (sync/cycle_clock.h).
bool cycle_stamps_proven(ProgramCache& programs, const cl::CommandQueue& queue);

}  // namespace tandem::opencl
