// The regions of the pool that a program needs copied when its device does not share memory.
#pragma once

#include <vector>

#include "engine/device/device.h"
#include "engine/device/operator.h"

namespace tandem::gpu {

struct CopiedRegions {
  std::vector<Region> weights;             // copied once, before the first launch
  std::vector<Region> uploads, downloads;  // copied around every launch
};

// Adds the regions that `op` reads and writes, each once. Call it for operators in their order: a region that one of
// them has written is not uploaded for a later one. Slots of SlotUse::device_local and those that the device keeps are
// never copied.
void collect_regions(const Operator& op, CopiedRegions& all, const KeptSlots& kept = {});
// The bytes that every launch copies.
uint64_t copied_bytes(const CopiedRegions& all);

}  // namespace tandem::gpu
