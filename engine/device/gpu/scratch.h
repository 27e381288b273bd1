// Memory of a device's own for what lives between the launches of one operator (BufferArg::own_bytes).
//
// Contract: launches of a device run in their order, so that all its operators share one piece. A larger one is taken
// where it is needed; programs that were prepared before keep theirs. The pool outlives it, and takes it all back with
// itself. Threads: one.
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
