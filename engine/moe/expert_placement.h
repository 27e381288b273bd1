// Decides about the experts of one layer and a chunk of B tokens, as NPUMoE does, from the counts of past choices. It
// chooses their capacity (N2), their groups (N3), and the groups that live on the NPU (N4, N8). Baselines differ only
// in their rules (N9).
//
// Contract: pure functions. Loads are the tokens expected at each expert, [E]. Choices without a place on the NPU are
// computed by another processor.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/moe/capacity_tiers.h"
#include "engine/moe/expert_groups.h"
#include "engine/moe/residency.h"
#include "engine/moe/routing_counts.h"

namespace tandem {

// Error: capacities of 0 or not falling, empty groups, or groups larger than the model's number of experts. The default
// of 8 is always accepted.
void check_rules(const ExpertRules& rules, int64_t E);

// N9: rules of the plans naive, base, +t (tiers) and +tg (tiers and groups). Each replaces some of the rules and keeps
// the others; plan "all" keeps all.
ExpertRules naive_rules(ExpertRules rules);
ExpertRules base_rules(ExpertRules rules);
ExpertRules tier_rules(ExpertRules rules);
ExpertRules tier_group_rules(ExpertRules rules);

struct ExpertPlacement {
  std::vector<ExpertGroup> resident;  // on the NPU, in the order of their rows
  // Groups left to the other processor; experts too large for a graph are in no group.
  std::vector<ExpertGroup> elsewhere;
  std::vector<int64_t> capacities;  // [E]: rows of each expert on the NPU, 0 without a place there
  double expected_elsewhere = 0;    // share of all choices that another processor is expected to compute: 0 to 1
  int64_t slots() const;            // rows of all resident groups
};

// Tokens of a chunk of B that each expert is expected to get; a token uses k experts. In proportion to the counts, or
// equal for all experts if nothing was counted.
std::vector<double> expected_loads(std::span<const int64_t> counts, int64_t k, int64_t B);

ExpertPlacement place_experts(std::span<const double> loads, int64_t k, int64_t B, int64_t expert_bytes,
                              const ExpertRules& rules, const ResidencyCosts& costs);

// Upper bound of the rows of any placement under these rules, for a chunk of B tokens. Used to size buffers.
int64_t most_slots(int64_t E, int64_t k, int64_t B, const ExpertRules& rules);

}  // namespace tandem
