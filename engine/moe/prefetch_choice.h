// Y3: which expert of a later layer is worth copying ahead: the one whose copy shortens the guessed layer most.
//
// Contract: a pure function. guessed: choices of each expert, [E]. slot_of: [E], -1: it has no slot. The gain is the
// time of the layer's schedule without the copy, less that with it. Of equal gains the lower id. Source: HybriMoE
// (arXiv:2504.05897), section IV.C.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/moe/schedules/schedule_rule.h"

namespace tandem {

struct PrefetchChoice {
  int32_t expert = 0;
  double gain = 0;  // seconds, above 0
};

// rule: nullptr: the schedule of least time. nullopt: no copy shortens the layer.
std::optional<PrefetchChoice> best_prefetch(std::span<const int64_t> guessed, std::span<const int32_t> slot_of,
                                            const ExpertCosts& costs, const ScheduleRule* rule);

// The choices of each of E experts, if every token chooses the k best of its scores. scores: [tokens, E], with `stride`
// from one row to the next.
std::vector<int64_t> guessed_loads(std::span<const float> scores, int64_t stride, int64_t tokens, int64_t E, int64_t k);

}  // namespace tandem
