// When each part of a list ran: the list kernel writes the processor's cycle counter at its start, behind every wait
// and behind every record (kernels/list.cl, STAMPS), and the host makes spans of it. So a recorded pass is the very
// launch that runs when nothing is recorded.
//
// Contract: only where cycle_stamps_proven(). Threads: the kernel writes, one host thread reads. Ownership: borrows its
// slot and its list's done word.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/opencl/program_cache.h"
#include "sync/cycle_clock.h"
#include "sync/flag.h"
#include "sync/pool.h"

namespace tandem::opencl {

class StampedList {
 public:
  static constexpr size_t kMostStamps = 1 << 15;

  // slot: uint64 [kMostStamps].
  explicit StampedList(sync::Slot& slot) : slot_(&slot) {}
  const sync::Slot& slot() const { return *slot_; }

  void clear() { ends_.clear(); }
  bool has_room(size_t more) const { return 1 + ends_.size() + more <= kMostStamps; }
  // What the next stamp is the end of, in order of execution.
  void add_wait() { ends_.push_back({nullptr, 0}); }
  void add_record(const Program* program, int op) { ends_.push_back({program, op}); }
  // Before the launch: no stamp is written yet. done reaches serial when the list has ended.
  void arm(const sync::FlagLine& done, uint32_t serial);

  bool ended() const;  // every stamp is written, or will not be
  // Spans of the records that ran. The ties are of moments before the list began and after it ended.
  std::vector<DeviceSpan> spans(const sync::ClockTie& before, const sync::ClockTie& after) const;

 private:
  struct End {
    const Program* program;
    int op;
  };
  uint64_t stamp(size_t index) const;  // 0: not written

  sync::Slot* slot_;
  std::vector<End> ends_;
  const sync::FlagLine* done_ = nullptr;
  uint32_t serial_ = 0;
};

// Whether kernels on this device can read the counter that the host reads. False where the device's compiler does not
// take the instruction, and where the counter is none to measure with (sync/cycle_clock.h).
bool cycle_stamps_proven(ProgramCache& programs, const cl::CommandQueue& queue);

}  // namespace tandem::opencl
