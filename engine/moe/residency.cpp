#include "engine/moe/residency.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem {

std::vector<bool> resident_groups(std::span<const ExpertGroup> groups, std::span<const double> loads,
                                  const ResidencyCosts& costs, int64_t most_groups) {
  std::vector<std::pair<double, size_t>> gains;  // seconds, and of which group
  for (size_t g = 0; g < groups.size(); ++g) {
    const ExpertGroup& group = groups[g];
    const auto size = static_cast<int64_t>(group.experts.size());
    double tokens = 0;
    for (const int64_t expert : group.experts) tokens += loads[static_cast<size_t>(expert)];
    const double here = costs.launch_seconds + costs.npu_seconds(group.rows(), size);
    const double gain = costs.other_seconds(tokens, size) - here;
    if (gain > 0) gains.emplace_back(gain, g);
  }
  std::ranges::stable_sort(gains, [](const auto& a, const auto& b) { return a.first > b.first; });
  gains.resize(std::min(gains.size(), static_cast<size_t>(std::max<int64_t>(0, most_groups))));
  std::vector<bool> resident(groups.size(), false);
  for (const auto& [gain, g] : gains) resident[g] = true;
  return resident;
}

}  // namespace tandem
