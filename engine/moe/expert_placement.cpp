// Joins the parts of NPUMoE into one placement: capacities by tiers, groups, and the choice of groups that stay on
// the NPU.
#include "engine/moe/expert_placement.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>

#include "sync/error.h"

namespace tandem {
namespace {

// B rounded up to a multiple of `step`.
int64_t whole_chunk(int64_t B, int64_t step) { return (B + step - 1) / step * step; }

// Rows of each expert under the rule for room.
std::vector<int64_t> capacities_of(std::span<const double> loads, int64_t k, int64_t B, const ExpertRules& rules) {
  if (rules.room == ExpertRoom::tiers) return expert_capacities(loads, k, B, rules.tiers);
  const auto E = static_cast<int64_t>(loads.size());
  const int64_t each = rules.room == ExpertRoom::whole_chunk ? whole_chunk(B, rules.tiers.step)
                                                             : tier_capacities(E, k, B, rules.tiers).front();
  return std::vector<int64_t>(loads.size(), each);
}

// The rule decides alone. The costs are those of the chip or of this machine, and come from the caller.
std::vector<bool> chosen_groups(std::span<const ExpertGroup> groups, std::span<const double> loads,
                                const ExpertRules& rules, const ResidencyCosts& costs) {
  switch (rules.residency) {
    case ResidencyRule::all:
      return std::vector<bool>(groups.size(), true);
    case ResidencyRule::faster:
      return resident_groups(groups, loads, costs, rules.most_groups);
    case ResidencyRule::balanced:
      return balanced_groups(groups, loads, costs, rules.most_groups);
  }
  return {};
}

}  // namespace

// Rules come from flags of users, so each failure says which numbers are allowed.
void check_rules(const ExpertRules& rules, int64_t E) {
  const auto& multiples = rules.tiers.multiples;
  if (!std::ranges::is_sorted(multiples, std::greater<>()) || !(multiples.back() > 0))
    throw Error("the capacities of experts do not fall, or one is nothing",
                std::to_string(multiples[0]) + ", " + std::to_string(multiples[1]) + ", " +
                    std::to_string(multiples[2]) + " times the mean load",
                "Give three numbers above 0, the largest first");
  // The default is right for every model, because expert_groups() makes no group larger than its tier.
  if (rules.groups.largest_group < 1 ||
      (rules.groups.largest_group > E && rules.groups.largest_group != GroupOptions().largest_group))
    throw Error("a group has as many experts as the model at most",
                std::to_string(rules.groups.largest_group) + " of " + std::to_string(E),
                "Give a number from 1 to " + std::to_string(E));
}

// The plans of the ablation (N9) form a chain. Each begins with the rules of the next richer plan and changes one
// of them. This is the poorest plan: every expert has room for a whole chunk, so nothing overflows and most rows
// are padding.
ExpertRules naive_rules(ExpertRules rules) {
  rules = base_rules(rules);
  rules.room = ExpertRoom::whole_chunk;
  return rules;
}

ExpertRules base_rules(ExpertRules rules) {
  rules = tier_rules(rules);
  rules.room = ExpertRoom::one_tier;
  return rules;
}

ExpertRules tier_rules(ExpertRules rules) {
  rules = tier_group_rules(rules);
  rules.groups.largest_group = 1;
  return rules;
}

ExpertRules tier_group_rules(ExpertRules rules) {
  rules.residency = ResidencyRule::all;
  return rules;
}

int64_t ExpertPlacement::slots() const {
  return std::transform_reduce(resident.begin(), resident.end(), int64_t{0}, std::plus<>(),
                               [](const ExpertGroup& group) { return group.rows(); });
}

// Without counts every expert is expected to get the mean load k * B / E.
std::vector<double> expected_loads(std::span<const int64_t> counts, int64_t k, int64_t B) {
  std::vector<double> loads(counts.size(), static_cast<double>(k * B) / static_cast<double>(counts.size()));
  const int64_t tokens = std::reduce(counts.begin(), counts.end()) / k;
  if (tokens == 0) return loads;
  std::ranges::transform(counts, loads.begin(), [&](int64_t count) { return expected_load(count, tokens, B); });
  return loads;
}

// Works in three steps. Each expert gets a capacity by its popularity. Experts of one capacity form groups. The
// rules choose the groups that stay on the NPU. Loads beyond a capacity, and all loads of the other groups, are
// computed elsewhere.
ExpertPlacement place_experts(std::span<const double> loads, int64_t k, int64_t B, int64_t expert_bytes,
                              const ExpertRules& rules, const ResidencyCosts& costs) {
  TANDEM_CHECK(!loads.empty() && k > 0 && B > 0, "experts of nothing");
  std::vector<int64_t> popularity(loads.size());
  std::iota(popularity.begin(), popularity.end(), int64_t{0});
  std::ranges::stable_sort(
      popularity, [&](int64_t a, int64_t b) { return loads[static_cast<size_t>(a)] > loads[static_cast<size_t>(b)]; });
  const std::vector<ExpertGroup> groups =
      expert_groups(capacities_of(loads, k, B, rules), popularity, expert_bytes, rules.groups);
  const std::vector<bool> chosen = chosen_groups(groups, loads, rules, costs);
  ExpertPlacement placement;
  placement.capacities.assign(loads.size(), 0);
  double here = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    (chosen[g] ? placement.resident : placement.elsewhere).push_back(groups[g]);
    if (!chosen[g]) continue;
    for (const int64_t expert : groups[g].experts) {
      placement.capacities[static_cast<size_t>(expert)] = groups[g].capacity;
      // Tokens beyond the capacity are computed elsewhere.
      here += std::min(loads[static_cast<size_t>(expert)], static_cast<double>(groups[g].capacity));
    }
  }
  const double all = std::reduce(loads.begin(), loads.end());
  placement.expected_elsewhere = all > 0 ? std::max(0.0, 1 - here / all) : 1;
  return placement;
}

// No tier is larger than the first, so this bound holds for every placement.
int64_t most_slots(int64_t E, int64_t k, int64_t B, const ExpertRules& rules) {
  const int64_t each = rules.room == ExpertRoom::whole_chunk ? whole_chunk(B, rules.tiers.step)
                                                             : tier_capacities(E, k, B, rules.tiers).front();
  return E * each;
}

}  // namespace tandem
