// Y2: the decision of one layer in the engine: which chosen experts the GPU computes from their slots, which it
// computes when the link has copied them, and which the host computes.
//
// Contract: pure functions. A division (engine/moe/lane_division.h) says who computes what. Copies go in turns of about
// equal numbers, in the order of the schedule. Copies beyond the places of all turns do not happen: the host computes
// those experts. Functions write into values that the caller keeps, so that text allocates no memory for decisions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/moe/lane_division.h"
#include "engine/tensor/expert_lanes.h"

namespace tandem {

struct LaneDecision {
  std::vector<ExpertPlace> place;                      // [E]
  std::vector<int32_t> turn, at;                       // [E]: of landed ones; `at` is the place, or the slot
  std::array<std::vector<int32_t>, kMostTurns> moved;  // by turn: experts, in the order of their places
};

// loads: choices of each expert, [E]. slot_of: [E], -1: it has none.
void find_active(std::span<const int64_t> loads, std::span<const int32_t> slot_of, ActiveExperts& active);
// ahead_at: [E], the place of an expert that was copied ahead, or -1; empty: there are none. Such experts count as
// cached, and have no slot.
void decide_lanes(const ActiveExperts& active, const LaneDivision& division, std::span<const int32_t> slot_of,
                  const LaneSizes& sizes, LaneDecision& decision, std::span<const int32_t> ahead_at = {});

// Writes the choices and the copies; `keepings` stay empty. ids: [S, k].
void write_decision(const LaneDecision& decision, std::span<const int32_t> ids, int64_t turns,
                    const LaneTables& tables);

}  // namespace tandem
