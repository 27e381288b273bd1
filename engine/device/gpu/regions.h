// Which places of the pool a program needs copied where its device does not share memory.
#pragma once

#include <vector>

#include "engine/device/operator.h"

namespace tandem::gpu {

struct CopiedRegions {
  std::vector<Region> weights;             // once, before the first launch
  std::vector<Region> uploads, downloads;  // around every launch
};

// Adds what `op` reads and writes, each place once, operators in their order: what one of them has written is not
// uploaded for a later one. Slots of SlotUse::device_local are never copied.
void collect_regions(const Operator& op, CopiedRegions& all);

}  // namespace tandem::gpu
