// The doorbell of a list kernel that stays on the device between passes (kernels/list.cl).
//
// A store hands the next list to that kernel. Without it a launch would have to wake a sleeping worker, which takes 20
// us (PoCL).
//
// Contract
//   A kernel launched with slot() and idle_looks() accepts further lists after its own. It ends after kStays without
//   one, and the next list must be launched.
//   post() either hands a list to the resident kernel or changes nothing. If it returns false, the caller launches
//   the list.
//   Lists keep their order: a kernel accepts only when it has nothing left to do, and in-order launches follow it.
//   dismiss() makes the kernel end at its next look. Other commands start only after that, because the device has one
//   worker. Threads: one.
#pragma once

#include <chrono>
#include <cstdint>

#include "sync/flag.h"
#include "sync/pool.h"

namespace tandem::opencl {

class ListDoorbell {
 public:
  // Longer than the time between the tokens of a run. The worker's core is busy for that long.
  static constexpr std::chrono::milliseconds kStays{2};

  ListDoorbell(sync::Pool& pool, double look_seconds);

  const sync::Slot& slot() const { return slot_; }
  uint64_t idle_looks() const { return idle_looks_; }
  // A kernel with this serial number was launched and may accept lists. Serial numbers rise, and are never 0 or
  // all ones.
  void launched(uint32_t serial) { resident_ = serial; }

  struct List {
    uint64_t address = 0;
    uint32_t base = 0, serial = 0;
  };
  // True: the resident kernel takes the list.
  bool post(const List& list);
  void dismiss();

 private:
  sync::FlagLine& line() const { return *slot_.as<sync::FlagLine>(); }

  sync::Slot& slot_;
  uint64_t idle_looks_;
  uint32_t resident_ = 0;  // serial number of the kernel that may accept lists; 0: there is none
};

}  // namespace tandem::opencl
