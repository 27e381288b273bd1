// The regions of the pool that a program needs copied when its device does not share memory.
#pragma once

#include <vector>

#include "engine/device/device.h"
#include "engine/device/operator.h"

namespace tandem::gpu {

struct CopiedRegions {
  std::vector<Region> weights;             // copied once, before the first launch
  std::vector<Region> uploads, downloads;  // copied around every launch
  std::vector<const sync::Slot*> divided;  // slots whose changed parts are copied before a launch
};

// Adds the regions that `op` reads and writes, each once. Call it for operators in their order: a region that one of
// them has written is not uploaded for a later one. Slots of SlotUse::device_local and those that the device keeps are
// never copied.
void collect_regions(const Operator& op, CopiedRegions& all, const KeptSlots& kept = {});
// The bytes that every launch copies, besides parts that have changed.
uint64_t copied_bytes(const CopiedRegions& all);

// Which parts of a divided slot a device's copy has, by their changes so far.
class CopiedParts {
 public:
  // The parts that have changed since the last call. The caller copies them at once: a change during the copy counts as
  // a later one.
  std::vector<Region> take_changed(const sync::Slot& slot);

 private:
  uint64_t acquired_ = 0;  // Slot::times_acquired() at the last call
  std::vector<uint64_t> changes_;
};

}  // namespace tandem::gpu
