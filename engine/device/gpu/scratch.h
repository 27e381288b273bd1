// A device's own memory for values that live between the launches of one operator (BufferArg::own_bytes).
//
// Contract: a device runs its launches in their order, so all its operators share one slot. An operator that needs more
// gets a larger slot; programs that were prepared before keep theirs. The pool owns the slots and outlives this object.
// Threads: one.
#pragma once

#include <span>

#include "engine/device/gpu/launch.h"
#include "sync/pool.h"

namespace tandem::gpu {

class Scratch {
 public:
  explicit Scratch(sync::Pool& pool) : pool_(pool) {}
  void give_to(std::span<KernelLaunch> launches);

 private:
  sync::Pool& pool_;
  const sync::Slot* slot_ = nullptr;
};

}  // namespace tandem::gpu
