// How near a router's choice was to another one. Devices that round differently may choose differently only where this
// margin is tiny.
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

// The least change of a score that would change the choice of k experts.
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

// The rule is read from the model, so the margin follows the same formula as the kernels.
RouterRule router_rule(const Model& model, int64_t layer) {
  const ExpertsConfig& experts = *model.config.experts;
  RouterRule rule{experts.used, experts.gating, {}, experts.groups, experts.groups_used};
  if (const Operand& bias = model.weights.layers[static_cast<size_t>(layer)].router_bias)
    rule.bias = {bias.as<const float>(), static_cast<size_t>(experts.count)};
  return rule;
}

namespace {

// What the rule chooses by: gating(score) + bias of each expert.
std::vector<float> biased(std::span<const float> scores, const RouterRule& rule) {
  const double top = std::ranges::max(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(score - top);
  std::vector<float> keys;
  for (size_t e = 0; e < scores.size(); ++e) {
    const double weight =
        rule.gating == Gating::softmax ? std::exp(scores[e] - top) / sum : 1 / (1 + std::exp(-double{scores[e]}));
    keys.push_back(static_cast<float>(weight + rule.bias[e]));
  }
  return keys;
}

// What a group counts as: its best key, or the sum of its best two.
float of_group(std::span<const float> keys, bool both) {
  std::vector<float> falling(keys.begin(), keys.end());
  std::ranges::sort(falling, std::greater<>{});
  return both ? falling[0] + falling[1] : falling[0];
}

}  // namespace

// With groups, the choice is made twice: of groups, then of experts within them. The smaller of both margins counts.
double router_margin(std::span<const float> scores, const RouterRule& rule) {
  std::vector<float> keys(scores.begin(), scores.end());
  if (!rule.bias.empty()) keys = biased(scores, rule);
  // Keys are in the order of their choice, so the choice itself is that of a softmax.
  const Gating gating = rule.bias.empty() ? rule.gating : Gating::softmax;
  if (rule.groups == 1) return router_margin(keys, rule.k, gating);
  const auto each = keys.size() / static_cast<size_t>(rule.groups);
  std::vector<float> groups;
  for (size_t begin = 0; begin < keys.size(); begin += each)
    groups.push_back(of_group(std::span(keys).subspan(begin, each), !rule.bias.empty()));
  std::vector<float> falling = groups;
  std::ranges::sort(falling, std::greater<>{});
  const float least = falling[static_cast<size_t>(rule.groups_used) - 1];
  std::vector<float> within;
  for (size_t g = 0; g < groups.size(); ++g)
    if (groups[g] >= least) within.insert(within.end(), keys.begin() + g * each, keys.begin() + (g + 1) * each);
  return std::min(router_margin(groups, rule.groups_used, Gating::softmax), router_margin(within, rule.k, gating));
}

// Keeps the least margin and the number of near ties, and no list.
void RouterMargins::add(double margin) {
  smallest = decisions == 0 ? margin : std::min(smallest, margin);
  ++decisions;
  if (margin < kNearTie) ++near_ties;
}

void add_margins(RouterMargins& margins, std::span<const float> scores, int64_t stride, int64_t E,
                 const RouterRule& rule) {
  for (size_t at = 0; at < scores.size(); at += static_cast<size_t>(stride))
    margins.add(router_margin(scores.subspan(at, static_cast<size_t>(E)), rule));
}

}  // namespace tandem
