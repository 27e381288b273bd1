// Experts of one capacity share a graph, because each launch of a graph costs time (N3).
#include "engine/moe/expert_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "sync/error.h"

namespace tandem {

// Tiers run from the largest to the smallest. Inside a tier the order of popularity stays.
std::vector<ExpertGroup> expert_groups(std::span<const int64_t> capacities, std::span<const int64_t> popularity,
                                       int64_t expert_bytes, const GroupOptions& options) {
  TANDEM_CHECK(capacities.size() == popularity.size() && expert_bytes > 0, "groups of experts");
  // The option limits a group, and so do the weights that one graph may hold (N8).
  const int64_t G = std::min(options.largest_group, options.largest_graph_bytes / expert_bytes);
  if (G < 1) return {};
  std::map<int64_t, std::vector<int64_t>, std::greater<>> tiers;
  for (const int64_t expert : popularity) {
    const int64_t capacity = capacities[static_cast<size_t>(expert)];
    if (capacity > 0) tiers[capacity].push_back(expert);
  }
  std::vector<ExpertGroup> groups;
  for (const auto& [capacity, experts] : tiers) {
    for (size_t begin = 0; begin < experts.size(); begin += static_cast<size_t>(G)) {
      const size_t end = std::min(experts.size(), begin + static_cast<size_t>(G));
      groups.push_back({capacity, {experts.data() + begin, experts.data() + end}});
    }
  }
  return groups;
}

// A slot is valid if a token fills it. Every other choice is overflow, also a choice of an expert without a group.
SlotUse slot_use(std::span<const ExpertGroup> groups, std::span<const int64_t> loads) {
  SlotUse use;
  for (const ExpertGroup& group : groups) {
    use.slots += group.rows();
    for (const int64_t expert : group.experts)
      use.valid += std::min(group.capacity, loads[static_cast<size_t>(expert)]);
  }
  use.overflow = std::reduce(loads.begin(), loads.end()) - use.valid;
  return use;
}

}  // namespace tandem
