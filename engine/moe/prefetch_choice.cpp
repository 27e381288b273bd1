// Which expert of a coming layer should be copied ahead (Y3).
#include "engine/moe/prefetch_choice.h"

#include <algorithm>

#include "engine/moe/expert_guess.h"
#include "engine/moe/lane_decision.h"

namespace tandem {
namespace {

// A gain below this share of the layer's time is a rounding of sums.
constexpr double kLeastGain = 1e-9;

}  // namespace

// Schedules the guessed layer once as it is, and once for each expert that is absent, as if that one were there. The
// expert whose presence shortens the layer most is worth the copy.
std::optional<PrefetchChoice> best_prefetch(std::span<const int64_t> guessed, std::span<const int32_t> slot_of,
                                            const ExpertCosts& costs, const ScheduleRule* rule) {
  ActiveExperts active;
  find_active(guessed, slot_of, active);
  if (active.cached.size() == active.ids.size()) return std::nullopt;
  const double without = divide(active, costs, rule, true).seconds;
  std::optional<PrefetchChoice> best;
  for (int32_t i = 0; i < static_cast<int32_t>(active.ids.size()); ++i) {
    if (std::ranges::binary_search(active.cached, i)) continue;
    ActiveExperts with = active;
    with.cached.insert(std::ranges::lower_bound(with.cached, i), i);
    const double gain = without - divide(with, costs, rule, true).seconds;
    if (gain > kLeastGain * without && (!best || gain > best->gain))
      best = PrefetchChoice{active.ids[static_cast<size_t>(i)], gain};
  }
  return best;
}

// Counts how many tokens would choose each expert, if the guess were right.
std::vector<int64_t> guessed_loads(std::span<const float> scores, int64_t stride, int64_t tokens, int64_t E,
                                   int64_t k) {
  std::vector<int64_t> loads(static_cast<size_t>(E));
  for (int64_t t = 0; t < tokens; ++t) {
    const auto row = scores.subspan(static_cast<size_t>(t * stride), static_cast<size_t>(E));
    for (const int32_t expert : best_experts(row, k)) ++loads[static_cast<size_t>(expert)];
  }
  return loads;
}

}  // namespace tandem
