#include "engine/moe/near_ties.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "engine/device/operators/route.h"

namespace tandem {
namespace {

// Distance from a sparse mixer's bound. In round r every score not yet picked is compared with the best of them.
double distance_from_bound(std::span<const double> falling, int64_t k) {
  constexpr double kBound = 2 * static_cast<double>(kSparseMixerJitter);
  double least = std::numeric_limits<double>::infinity();
  for (size_t round = 0; round < static_cast<size_t>(k); ++round) {
    const double best = falling[round];
    for (size_t i = round + 1; i < falling.size(); ++i) {
      const double size = std::max(std::fabs(falling[i]), best);
      if (size > 0) least = std::min(least, std::fabs((best - falling[i]) - kBound * size));
    }
  }
  return least;
}

}  // namespace

double router_margin(std::span<const float> scores, int64_t k, Gating gating) {
  std::vector<double> falling(scores.begin(), scores.end());
  std::ranges::sort(falling, std::greater<>{});
  const auto chosen = static_cast<size_t>(k);
  double margin = std::numeric_limits<double>::infinity();
  // The distance between the last chosen score and the first one that is not chosen.
  if (chosen < falling.size()) margin = falling[chosen - 1] - falling[chosen];
  if (gating == Gating::sparse_mixer) margin = std::min(margin, distance_from_bound(falling, k));
  return margin;
}

void RouterMargins::add(double margin) {
  smallest = decisions == 0 ? margin : std::min(smallest, margin);
  ++decisions;
  if (margin < kNearTie) ++near_ties;
}

void add_margins(RouterMargins& margins, std::span<const float> scores, int64_t stride, int64_t E, int64_t k,
                 Gating gating) {
  for (size_t at = 0; at < scores.size(); at += static_cast<size_t>(stride))
    margins.add(router_margin(scores.subspan(at, static_cast<size_t>(E)), k, gating));
}

}  // namespace tandem
