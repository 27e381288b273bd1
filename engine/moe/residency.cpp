// Which groups of experts stay on the NPU (N4). All others, and tokens beyond a capacity, are computed elsewhere.
#include "engine/moe/residency.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tandem {
namespace {

// Seconds of a group: on the NPU, for all its tokens on the other processor, and for the tokens that leave
// that processor.
struct Moved {
  double npu = 0, whole = 0, other = 0;
};

// Tokens beyond a capacity stay with the other processor, so they are not taken from it.
Moved moved_by(const ExpertGroup& group, std::span<const double> loads, const ResidencyCosts& costs) {
  const auto size = static_cast<int64_t>(group.experts.size());
  double tokens = 0, overflow = 0;
  for (const int64_t expert : group.experts) {
    const double load = loads[static_cast<size_t>(expert)];
    tokens += load;
    overflow += std::max(0.0, load - static_cast<double>(group.capacity));
  }
  const double whole = costs.other_seconds(tokens, size);
  return {costs.launch_seconds + costs.npu_seconds(group.rows(), size), whole,
          whole - (overflow > 0 ? costs.other_seconds(overflow, size) : 0)};
}

}  // namespace

// Greedy: groups in the order of relief of the other processor for a second of the NPU. A group is taken if the later
// of both then ends sooner.
std::vector<bool> balanced_groups(std::span<const ExpertGroup> groups, std::span<const double> loads,
                                  const ResidencyCosts& costs, int64_t most_groups) {
  std::vector<Moved> moved;
  double npu = 0, other = 0;
  for (const ExpertGroup& group : groups) {
    moved.push_back(moved_by(group, loads, costs));
    other += moved.back().whole;
  }
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      // Compares the ratios other / npu without a division.
      order, [&](size_t a, size_t b) { return moved[a].other * moved[b].npu > moved[b].other * moved[a].npu; });
  std::vector<bool> resident(groups.size(), false);
  for (const size_t g : order) {
    if (most_groups <= 0) break;
    const double with_it = std::max(npu + moved[g].npu, other - moved[g].other);
    if (with_it >= std::max(npu, other)) continue;
    resident[g] = true;
    npu += moved[g].npu;
    other -= moved[g].other;
    --most_groups;
  }
  return resident;
}

// Judges each group by itself, as the paper does: the gain is its time elsewhere less its time on the NPU. The largest
// gains get the places.
std::vector<bool> resident_groups(std::span<const ExpertGroup> groups, std::span<const double> loads,
                                  const ResidencyCosts& costs, int64_t most_groups) {
  std::vector<std::pair<double, size_t>> gains;  // seconds, and index of the group
  for (size_t g = 0; g < groups.size(); ++g) {
    const Moved moved = moved_by(groups[g], loads, costs);
    const double gain = moved.whole - moved.npu;
    if (gain > 0) gains.emplace_back(gain, g);
  }
  std::ranges::stable_sort(gains, [](const auto& a, const auto& b) { return a.first > b.first; });
  gains.resize(std::min(gains.size(), static_cast<size_t>(std::max<int64_t>(0, most_groups))));
  std::vector<bool> resident(groups.size(), false);
  for (const auto& [gain, g] : gains) resident[g] = true;
  return resident;
}

}  // namespace tandem
