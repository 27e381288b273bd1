// Decides on which host cores the GPU's workers, the NPU and the orchestrator run.
//
// Two cores: the GPU has the first, NPU and orchestrator have the second. No thread spins on a core that has work. One
// core: all share it and wait by blocking only. Three and more: the GPU has the larger half, and the orchestrator
// shares the last core with the NPU. The GPU here is a CPU device (PoCL). A real GPU leaves its cores idle.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tandem {

struct CoreLayout {
  std::vector<int> gpu, npu;
  int orchestrator = 0;
  bool may_spin = true;  // false with a single core

  bool operator==(const CoreLayout&) const = default;
};

// A pure function. usable: the cores that this process may use, rising, at least one. threads: how many of
// them are used; 0: all.
CoreLayout lay_out_cores(std::span<const int> usable, int threads = 0);
std::string to_string(const CoreLayout& layout);

}  // namespace tandem
