// N4: which groups live on the NPU. A launch costs the same however few tokens come, so a group is resident where it is
// expected to be faster there than its tokens are elsewhere; or, where the other processor works at the same time,
// where that makes the later of the two end sooner.
//
// Contract: pure functions; seconds and tokens are the caller's expectations.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/moe/expert_groups.h"

namespace tandem {

struct ResidencyCosts {
  double launch_seconds = 0;                                            // of a graph
  std::function<double(int64_t slots, int64_t experts)> npu_seconds;    // of a group's rows, padding included
  std::function<double(double tokens, int64_t experts)> other_seconds;  // of the tokens alone
};

// loads: tokens expected at each expert. Resident is a group where launch + npu_seconds < other_seconds; at most
// `most_groups` of them (N8), those that gain most.
std::vector<bool> resident_groups(std::span<const ExpertGroup> groups, std::span<const double> loads,
                                  const ResidencyCosts& costs, int64_t most_groups);

// The same for processors that work side by side: groups become resident one by one, the one first that takes most from
// the other processor for a second of the NPU's, as long as the later of both is expected to end sooner by it. What is
// beyond a resident expert's capacity stays with the other processor.
std::vector<bool> balanced_groups(std::span<const ExpertGroup> groups, std::span<const double> loads,
                                  const ResidencyCosts& costs, int64_t most_groups);

}  // namespace tandem
