// What NPUMoE decides for the experts of one layer and a chunk of B tokens, from how often each was chosen: their room
// (N2), their groups (N3), and which of these live on the NPU (N4, N8). Baselines are the same with other rules (N9).
//
// Contract: pure functions. Loads are tokens expected at each expert, [E]. What has no place on the NPU is computed by
// another processor.
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

enum class ExpertRoom : uint8_t {
  whole_chunk,  // of every expert: all tokens may come (N9, naive)
  one_tier,     // the largest tier for every expert (N9, base)
  tiers,        // N2
};
enum class ResidencyRule : uint8_t {
  all,       // every group lives on the NPU, whatever that costs
  faster,    // N4 as the paper has it: where a group is faster there
  balanced,  // where NPU and the other processor, which work side by side, end sooner
};
// N7: choices beyond their expert's room.
enum class Overflow : uint8_t {
  spill,  // go to the other processor: the result is exact
  drop,   // are left out, lowest saliency first
};

struct ExpertRules {
  ExpertRoom room = ExpertRoom::tiers;
  TierOptions tiers;
  GroupOptions groups;
  ResidencyRule residency = ResidencyRule::balanced;
  int64_t most_groups = 16;  // N8: resident at once, of rules that choose
  Overflow overflow = Overflow::spill;
};

// Error: capacities of nothing or that do not fall, groups of nothing, or of more experts than the model has (the
// default fits every model).
void check_rules(const ExpertRules& rules, int64_t E);

// N9: of the plans naive, base, +t (tiers), +tg (tiers and groups) and all: these rules in place of some of the given
// ones.
ExpertRules naive_rules(ExpertRules rules);
ExpertRules base_rules(ExpertRules rules);
ExpertRules tier_rules(ExpertRules rules);
ExpertRules tier_group_rules(ExpertRules rules);

struct ExpertPlacement {
  std::vector<ExpertGroup> resident;   // on the NPU, in the order of their rows there
  std::vector<ExpertGroup> elsewhere;  // groups that were not worth it; experts too large for a graph are in none
  std::vector<int64_t> capacities;     // [E]: rows of each expert on the NPU, 0 where it has none
  double expected_elsewhere = 0;       // choices that another processor is expected to compute, of all: 0 to 1
  int64_t slots() const;               // rows of all resident groups
};

// Tokens of a chunk of B that are expected at each expert, of which a token goes to k: as these counts say, or the same
// for all where nothing was counted.
std::vector<double> expected_loads(std::span<const int64_t> counts, int64_t k, int64_t B);

ExpertPlacement place_experts(std::span<const double> loads, int64_t k, int64_t B, int64_t expert_bytes,
                              const ExpertRules& rules, const ResidencyCosts& costs);

// An upper bound of the rows that any placement of these rules has for a chunk of B tokens: for buffers.
int64_t most_slots(int64_t E, int64_t k, int64_t B, const ExpertRules& rules);

}  // namespace tandem
