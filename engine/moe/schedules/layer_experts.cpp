// Checks and sorts what schedules take, once for all of them. A schedule is a pure function of these sorted lists.
#include "engine/moe/schedules/layer_experts.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sync/error.h"

namespace tandem {
namespace {

// A cost that is not finite would make every comparison of ends false, and schedules would be arbitrary.
void require_costs(const ExpertCosts& costs) {
  for (const auto& [name, cost] : {std::pair{"cpu_fixed", costs.cpu_fixed},
                                   {"cpu_per_token", costs.cpu_per_token},
                                   {"cpu_first", costs.cpu_first},
                                   {"gpu_fixed", costs.gpu_fixed},
                                   {"gpu_per_token", costs.gpu_per_token},
                                   {"gpu_offset", costs.gpu_offset},
                                   {"link_offset", costs.link_offset},
                                   {"transfer", costs.transfer}}) {
    if (!std::isfinite(cost) || cost < 0)
      throw Error("experts cannot be scheduled", name, "A cost is a number from 0 on");
  }
}

// Marks by id, so that loads and caches can be joined in one walk.
std::vector<bool> marks_of(std::span<const int32_t> cached, size_t experts) {
  std::vector<bool> marks(experts);
  for (const int32_t id : cached) {
    const std::string name = "expert " + std::to_string(id);
    if (id < 0 || static_cast<size_t>(id) >= experts)
      throw Error("a cached expert is not there", name, "There are loads of " + std::to_string(experts) + " experts");
    if (marks[static_cast<size_t>(id)]) throw Error("an expert is cached twice", name, "Name it once");
    marks[static_cast<size_t>(id)] = true;
  }
  return marks;
}

}  // namespace

// Computes each expert's time on either side from its load, and sorts each list once. Equal loads go by id, so
// schedules are the same on every machine.
LayerExperts::LayerExperts(std::span<const int64_t> loads, std::span<const int32_t> cached, const ExpertCosts& costs)
    : costs_(costs) {
  require_costs(costs);
  const std::vector<bool> is_cached = marks_of(cached, loads.size());
  cached_.reserve(cached.size());
  uncached_.reserve(loads.size() - cached.size());
  for (size_t i = 0; i < loads.size(); ++i) {
    const auto tokens = static_cast<double>(loads[i]);
    if (loads[i] < 1)
      throw Error("an expert without tokens", "expert " + std::to_string(i), "Loads are whole numbers from 1 on");
    (is_cached[i] ? cached_ : uncached_)
        .push_back({static_cast<int32_t>(i), loads[i], costs.cpu_fixed + costs.cpu_per_token * tokens,
                    costs.gpu_fixed + costs.gpu_per_token * tokens});
  }
  rising_ = uncached_;
  std::ranges::sort(cached_, has_precedence);
  std::ranges::sort(uncached_, has_precedence);
  std::ranges::sort(rising_, [](const LayerExpert& a, const LayerExpert& b) {
    return a.load < b.load || (a.load == b.load && a.id < b.id);
  });
}

}  // namespace tandem
