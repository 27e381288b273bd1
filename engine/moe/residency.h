// N4: chooses the groups that live on the NPU. A launch costs the same for few and for many tokens. So a group is
// resident if it is expected to be faster on the NPU than its tokens are elsewhere. If the other processor works at the
// same time, a group is resident if the later of the two ends sooner.
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
  double launch_seconds = 0;                                            // launch of a graph
  std::function<double(int64_t slots, int64_t experts)> npu_seconds;    // for a group's rows, padding included
  std::function<double(double tokens, int64_t experts)> other_seconds;  // for the tokens alone
};

// A group is resident if launch + npu_seconds < other_seconds. At most `most_groups` are (N8), those with the largest
// gain. loads: tokens expected at each expert.
std::vector<bool> resident_groups(std::span<const ExpertGroup> groups, std::span<const double> loads,
                                  const ResidencyCosts& costs, int64_t most_groups);

// The same for processors that work side by side. Groups become resident one by one. The next one relieves the other
// processor most for each second of the NPU. It becomes resident only if the later of both then ends sooner. Tokens
// beyond a resident expert's capacity stay with the other processor.
std::vector<bool> balanced_groups(std::span<const ExpertGroup> groups, std::span<const double> loads,
                                  const ResidencyCosts& costs, int64_t most_groups);

}  // namespace tandem
