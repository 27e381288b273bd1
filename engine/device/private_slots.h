// The slots of SlotUse::device_local that lie in a device's own memory: keys and values of texts.
//
// A device without zero_copy has such a slot in its own memory, and copies it neither in nor out around launches. Texts
// that are shared, kept in files, drafted as trees or taken over from another device need parts of it elsewhere.
//
// Contract: each call blocks until its copies have ended, and does them in their order. Error when a copy fails.
//   Threads: the thread that calls Device::launch(), while no launch runs.
#pragma once

#include <span>

#include "engine/device/operators/region.h"

namespace tandem {

// Rows that are copied within one slot. Both places have the same number of rows, width and pitch. They do not overlap.
struct SlotCopy {
  Region from;
  Operand to;
};

class PrivateSlots {
 public:
  virtual ~PrivateSlots() = default;
  virtual void fetch(std::span<const Region> regions) = 0;  // from the device's memory into the pool's
  virtual void store(std::span<const Region> regions) = 0;  // from the pool's memory into the device's
  virtual void copy(std::span<const SlotCopy> copies) = 0;  // within the device's memory
};

}  // namespace tandem
