// Turns a division of a layer's experts into what programs read: tables of slots, places and copies. It runs in each
// layer of each pass, between two parts of the pass, so it writes into memory that the caller keeps.
#include "engine/moe/lane_decision.h"

#include <algorithm>

#include "engine/tensor/routing.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Gives the copies their turns and places. Each turn gets about as many, so that the GPU can begin with the first turn
// while the link copies the second.
void land(LaneDecision& decision, const ActiveExperts& active, std::span<const int32_t> moved, const LaneSizes& sizes) {
  const int64_t turns = sizes.copy_turns();
  const auto n = std::min<int64_t>(std::ssize(moved), turns * sizes.places);
  const int64_t each = turns > 0 ? std::max<int64_t>(1, (n + turns - 1) / turns) : 1;
  for (int64_t i = 0; i < n; ++i) {
    const int32_t id = active.ids[static_cast<size_t>(moved[static_cast<size_t>(i)])];
    const auto expert = static_cast<size_t>(id);
    auto& turn = decision.moved[static_cast<size_t>(i / each)];
    decision.place[expert] = ExpertPlace::landed;
    decision.turn[expert] = static_cast<int32_t>(i / each);
    decision.at[expert] = static_cast<int32_t>(turn.size());
    turn.push_back(id);
  }
}

}  // namespace

// Experts that no token chose are left out, so schedules see short lists. Ids in the lists are places, and `ids`
// leads back.
void find_active(std::span<const int64_t> loads, std::span<const int32_t> slot_of, ActiveExperts& active) {
  active.ids.clear(), active.loads.clear(), active.cached.clear();
  for (size_t e = 0; e < loads.size(); ++e) {
    if (loads[e] == 0) continue;
    if (slot_of[e] >= 0) active.cached.push_back(static_cast<int32_t>(active.ids.size()));
    active.ids.push_back(static_cast<int32_t>(e));
    active.loads.push_back(loads[e]);
  }
}

// First each active expert gets its slot, its place of a copy made ahead, or the host. Then land() gives places to
// those that the link will copy. A copy without a place stays on the host.
void decide_lanes(const ActiveExperts& active, const LaneDivision& division, std::span<const int32_t> slot_of,
                  const LaneSizes& sizes, LaneDecision& decision, std::span<const int32_t> ahead_at) {
  TANDEM_CHECK(sizes.turns >= 0 && sizes.turns <= kMostTurns, "turns of a decision");
  decision.place.assign(slot_of.size(), ExpertPlace::none);
  decision.turn.assign(slot_of.size(), 0);
  decision.at.assign(slot_of.size(), kElsewhere);
  for (std::vector<int32_t>& turn : decision.moved) turn.clear();
  for (size_t i = 0; i < active.ids.size(); ++i) {
    const auto expert = static_cast<size_t>(active.ids[i]);
    // Copied experts for which there is a place get it below.
    const bool in_slot = division.place[i] == ExpertPlace::slot;
    decision.place[expert] = in_slot ? ExpertPlace::slot : ExpertPlace::host;
    if (in_slot) decision.at[expert] = slot_of[expert];
    if (!in_slot || slot_of[expert] >= 0) continue;
    TANDEM_CHECK(sizes.ahead && !ahead_at.empty() && ahead_at[expert] >= 0, "a cached expert on the GPU");
    decision.place[expert] = ExpertPlace::landed;
    decision.turn[expert] = static_cast<int32_t>(sizes.copy_turns());
    decision.at[expert] = ahead_at[expert];
  }
  land(decision, active, division.moved, sizes);
}

// A choice appears in exactly one table with a number, and in all others with kElsewhere, so each row is computed once.
void write_decision(const LaneDecision& decision, std::span<const int32_t> ids, int64_t turns,
                    const LaneTables& tables) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto expert = static_cast<size_t>(ids[i]);
    const ExpertPlace place = decision.place[expert];
    const bool on_host = place == ExpertPlace::host;
    tables.in_slots[i] = place == ExpertPlace::slot ? decision.at[expert] : kElsewhere;
    tables.on_host[i] = on_host ? ids[i] : kElsewhere;
    tables.row_of[i] = on_host ? static_cast<int32_t>(i) : kElsewhere;
    for (int32_t t = 0; t < turns; ++t)
      tables.landed[static_cast<size_t>(t)][i] =
          place == ExpertPlace::landed && decision.turn[expert] == t ? decision.at[expert] : kElsewhere;
  }
  for (size_t t = 0; t < static_cast<size_t>(turns); ++t) {
    const std::vector<int32_t>& moved = decision.moved[t];
    const std::span<int32_t> copies = tables.copies[t];
    copies[0] = static_cast<int32_t>(moved.size());
    for (size_t i = 0; i < moved.size(); ++i) {
      copies[1 + 3 * i] = moved[i];
      copies[2 + 3 * i] = static_cast<int32_t>(i);
      copies[3 + 3 * i] = moved[i];
    }
    tables.keepings[t][0] = 0;
  }
}

}  // namespace tandem
