// Which host cores the GPU's workers, the NPU and the orchestrator run on.
//
// Two cores: GPU on the first, NPU and orchestrator on the second; nobody spins on a core that has work. One core:
// everything on it, waiting by blocking only. Three and more: the GPU has the larger half. A CPU device (PoCL) is
// meant; a real GPU leaves its cores idle.
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

// Pure: from the cores this process may use, in rising order (at least one). threads > 0 limits how many are used.
CoreLayout lay_out_cores(std::span<const int> usable, int threads = 0);
std::string to_string(const CoreLayout& layout);

}  // namespace tandem
