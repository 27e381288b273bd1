// Models the prefill of a mixture of experts on a chip whose NPU runs experts in static graphs: time, energy and CPU
// time. It covers the paper's engine, the engines that the paper compares with, and its ablation (N5, N9, N10).
//
// Contract: pure functions. Source: NPUMoE (arXiv:2604.18788), sections 5.3 to 5.8. A layer is its attention and its
// experts, as in the paper's times to the first token. Router, gather and scatter count only as CPU time.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/moe/chip_experts.h"
#include "engine/moe/expert_placement.h"
#include "engine/moe/mixture_shape.h"

namespace tandem {

enum class ExpertEngine : uint8_t {
  cpu,         // everything on the CPU
  naive,       // attention on the CPU; experts as in `base`, but every launch waits
  anemll,      // attention on the NPU, experts on the CPU
  ours,        // attention and resident groups on the NPU, other groups meanwhile on the CPU ("all")
  base,        // ablation: like ours, but each expert is a graph of one shape
  tiers,       // + T
  tier_groups  // + T + G
};
inline constexpr std::array kExpertEngines{ExpertEngine::cpu,        ExpertEngine::naive, ExpertEngine::anemll,
                                           ExpertEngine::ours,       ExpertEngine::base,  ExpertEngine::tiers,
                                           ExpertEngine::tier_groups};
std::string_view name_of(ExpertEngine engine);
bool experts_on_npu(ExpertEngine engine);

// N4 as in the paper: a group is resident if it is faster on the NPU. Choices beyond a capacity are dropped (N7). Two
// tiers: 4 and 2 times B/E at k = 2.
ExpertRules paper_rules(const ChipExperts& chip);
ExpertRules engine_rules(ExpertEngine engine, const ExpertRules& rules);

// Seconds that processors work, and joules. A sum over layers and chunks, or the times of one of them.
struct ExpertTimes {
  double attention_seconds = 0;  // wall
  double expert_seconds = 0;     // wall
  double dispatch_seconds = 0;   // part of expert_seconds: launches and the waits at each
  double cpu_seconds = 0;        // the CPU is busy, counted in time of all cores that compute experts
  double npu_joules = 0, cpu_joules = 0, communication_joules = 0;
  int64_t launches = 0, slots = 0;
  double seconds() const { return attention_seconds + expert_seconds; }
  double joules() const { return npu_joules + cpu_joules + communication_joules; }
  ExpertTimes& operator+=(const ExpertTimes& other);
};

// Times of the experts of one layer and one chunk. loads: tokens expected at each expert, [E]. placement:
// by engine_rules().
ExpertTimes expert_times(const ChipExperts& chip, const MixtureShape& shape, ExpertEngine engine,
                         std::span<const double> loads, const ExpertPlacement& placement);

// Times of a prompt of P tokens in chunks of C; the last chunk is padded. shares: [layers][E], the share of each
// layer's choices that goes to each expert.
ExpertTimes prefill_times(const ChipExperts& chip, const MixtureShape& shape, ExpertEngine engine, int64_t P, int64_t C,
                          std::span<const std::vector<double>> shares, const ExpertRules& rules);

}  // namespace tandem
