// Which launches of a program need a barrier in front.
//
// Contract: two launches need one between them only where the second reads or overwrites what the first wrote, or
// overwrites what it reads. Between operators that is judged by the regions they name (reads(), writes()), so that
// launches that write disjoint columns of one matrix run side by side; between launches of one operator by their
// arguments; memory of the device's own is one place for all of them. A barrier closes everything in front of it. In
// doubt there is one. Launches come in the order of execution; the first one never needs a barrier: submissions end
// with one. No device is needed. Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/gpu/launch.h"
#include "engine/device/operator.h"

namespace tandem::vulkan {

class Hazards {
 public:
  void begin(const Operator& op);  // the launches that follow are its
  bool needs_barrier(const gpu::KernelLaunch& launch);

 private:
  struct Regions {
    std::vector<Region> reads, writes;
  };
  static bool meet(const Regions& first, const Regions& second);

  Regions current_;                    // of the operator whose launches these are
  std::vector<Regions> open_;          // of earlier operators, launched since the last barrier
  std::vector<gpu::BufferArg> bound_;  // by the current operator's launches since the last barrier
  // What launches of any operator did with memory of the device's own since the last barrier.
  enum class Own : uint8_t { untouched, read, written } own_ = Own::untouched;
};

}  // namespace tandem::vulkan
