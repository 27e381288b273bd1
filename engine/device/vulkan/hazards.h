// Finds out which launches of a program need a barrier in front of them.
//
// Contract: two launches need a barrier between them if the second one reads or overwrites what the first one wrote.
// They also need one if the second one overwrites what the first one reads.
//   Between operators the regions that they name decide (reads(), writes()). So launches that write disjoint
//   columns of one matrix run side by side. Between launches of one operator their arguments decide. Operators with
//   fused launches count as one operator. The device's own memory counts as one place. A barrier closes everything in
//   front of it. If a hazard cannot be excluded, there is a barrier.
//   Launches come in the order of execution. The first one never needs a barrier, because submissions end with one. No
//   device is needed. Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/gpu/launch.h"
#include "engine/device/operator.h"

namespace tandem::vulkan {

class Hazards {
 public:
  // The launches that follow belong to these operators, or to this one.
  void begin(std::span<const Operator> operators);
  void begin(const Operator& op) { begin({&op, 1}); }
  bool needs_barrier(const gpu::KernelLaunch& launch);

 private:
  struct Regions {
    std::vector<Region> reads, writes;
  };
  static bool meet(const Regions& first, const Regions& second);

  Regions current_;                    // regions of the operator whose launches come now
  std::vector<Regions> open_;          // regions of earlier operators that were launched since the last barrier
  std::vector<gpu::BufferArg> bound_;  // arguments of the current operator's launches since the last barrier
  // How launches of all operators have used the device's own memory since the last barrier.
  enum class Own : uint8_t { untouched, read, written } own_ = Own::untouched;
};

}  // namespace tandem::vulkan
