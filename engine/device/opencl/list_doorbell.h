// The doorbell of a list kernel that stays on the device between passes (kernels/list.cl): the next list is handed over
// by a store instead of a launch, which takes a sleeping worker 20 us to notice (PoCL).
//
// Contract
//   A kernel launched with arguments() accepts lists after its own, for kStays without one; then it ends, and the next
//   list is launched again. post() either hands a list to that very kernel or changes nothing: who is told false
//   launches it. Lists keep their order, since a kernel accepts only when it has nothing left to do and in-order
//   launches follow it. dismiss() makes the kernel end at its next look; whatever else is queued on the device's only
//   worker starts after that. Threads: one.
#pragma once

#include <chrono>
#include <cstdint>

#include "sync/flag.h"
#include "sync/pool.h"

namespace tandem::opencl {

class ListDoorbell {
 public:
  // Longer than what passes between the tokens of a run; the worker's core is busy meanwhile.
  static constexpr std::chrono::milliseconds kStays{2};

  ListDoorbell(sync::Pool& pool, double look_seconds);

  const sync::Slot& slot() const { return slot_; }
  uint64_t idle_looks() const { return idle_looks_; }
  // Serials are not 0, rise, and are never all ones.
  void launched(uint32_t serial) { resident_ = serial; }

  struct List {
    uint64_t address = 0;
    uint32_t base = 0, serial = 0;
  };
  bool post(const List& list);
  void dismiss();

 private:
  sync::FlagLine& line() const { return *slot_.as<sync::FlagLine>(); }

  sync::Slot& slot_;
  uint64_t idle_looks_;
  uint32_t resident_ = 0;  // serial of the kernel that may accept; 0: none
};

}  // namespace tandem::opencl
