// Capacities of the experts' graphs on the NPU (N2). A graph has a fixed number of rows, so a capacity is a guess of
// how many tokens an expert gets.
#include "engine/moe/capacity_tiers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sync/error.h"

namespace tandem {
namespace {

// Even an expert that is expected to get nothing has one step of rows, because a graph without rows cannot be made.
int64_t rounded_up(double tokens, int64_t step) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(tokens / static_cast<double>(step)))) * step;
}

// The smallest of tiers[begin ..] that covers the load. If none does, the largest of them.
int64_t covering(const std::array<int64_t, 3>& tiers, size_t begin, double load) {
  for (size_t t = tiers.size(); t-- > begin;) {
    if (static_cast<double>(tiers[t]) >= load) return tiers[t];
  }
  return tiers[begin];
}

}  // namespace

// The mean load k * B / E is the room that suffices if all experts are equally busy. No expert gets a token twice, so a
// whole chunk bounds every tier.
std::array<int64_t, 3> tier_capacities(int64_t E, int64_t k, int64_t B, const TierOptions& options) {
  TANDEM_CHECK(E > 0 && k > 0 && B > 0 && options.step > 0, "tiers of nothing");
  const double mean = static_cast<double>(k * B) / static_cast<double>(E);
  std::array<int64_t, 3> tiers{};
  std::ranges::transform(options.multiples, tiers.begin(), [&](double multiple) {
    return std::min(rounded_up(multiple * mean, options.step), rounded_up(static_cast<double>(B), options.step));
  });
  return tiers;
}

// Rule `quartile` gives the largest tier by rank and chooses the others among the two smaller tiers by load.
std::vector<int64_t> expert_capacities(std::span<const double> expected_loads, int64_t k, int64_t B,
                                       const TierOptions& options) {
  const size_t E = expected_loads.size();
  const std::array<int64_t, 3> tiers = tier_capacities(static_cast<int64_t>(E), k, B, options);
  std::vector<size_t> order(E);
  std::iota(order.begin(), order.end(), size_t{0});
  // Experts of equal load keep the order of their numbers, so the result is the same everywhere.
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return expected_loads[a] > expected_loads[b]; });
  const auto popular = static_cast<size_t>(std::ceil(static_cast<double>(E) * options.popular_share));
  std::vector<int64_t> capacities(E);
  for (size_t rank = 0; rank < E; ++rank) {
    const double load = expected_loads[order[rank]];
    const bool by_rank = options.rule == TierRule::quartile;
    capacities[order[rank]] = by_rank && rank < popular ? tiers[0] : covering(tiers, by_rank ? 1 : 0, load);
  }
  return capacities;
}

}  // namespace tandem
