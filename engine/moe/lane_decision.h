// Y2: the decision of one layer in the engine: which chosen experts the GPU computes from their slots, which it
// computes when the link has copied them, and which the host computes.
//
// Contract: pure functions. A schedule (engine/moe/schedules/) divides the experts. Copies go in turns of about equal
// numbers, in the order of the schedule. Copies beyond the places of all turns do not happen: the host computes those
// experts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/moe/schedules/schedule_rule.h"
#include "engine/tensor/expert_lanes.h"

namespace tandem {

// Where an expert is computed. kNone: nobody chose it.
enum class ExpertPlace : uint8_t { none, slot, landed, host };

struct LaneDecision {
  std::vector<ExpertPlace> place;                      // [E]
  std::vector<int32_t> turn, at;                       // [E]: of landed ones; `at` is the place, or the slot
  std::array<std::vector<int32_t>, kMostTurns> moved;  // by turn: experts, in the order of their places
  double seconds = 0;                                  // as the schedule expects
};

// loads: choices of each expert, [E]. slot_of: [E], -1: it has none. rule: nullptr: the schedule of least time.
LaneDecision decide_lanes(std::span<const int64_t> loads, std::span<const int32_t> slot_of, const ExpertCosts& costs,
                          const ScheduleRule* rule, const LaneSizes& sizes);

// Writes the choices and the copies; `keepings` stay empty. ids: [S, k].
void write_decision(const LaneDecision& decision, std::span<const int32_t> ids, int64_t turns,
                    const LaneTables& tables);

}  // namespace tandem
