#include "engine/moe/lane_decision.h"

#include <algorithm>

#include "engine/tensor/routing.h"
#include "sync/error.h"

namespace tandem {
namespace {

// The experts that somebody chose. The schedule counts them from 0 on.
struct ActiveExperts {
  std::vector<int32_t> ids;
  std::vector<int64_t> loads;
  std::vector<int32_t> cached;
};

ActiveExperts active_experts(std::span<const int64_t> loads, std::span<const int32_t> slot_of) {
  ActiveExperts active;
  for (size_t e = 0; e < loads.size(); ++e) {
    if (loads[e] == 0) continue;
    if (slot_of[e] >= 0) active.cached.push_back(static_cast<int32_t>(active.ids.size()));
    active.ids.push_back(static_cast<int32_t>(e));
    active.loads.push_back(loads[e]);
  }
  return active;
}

// Gives the copies their turns and places.
void land(LaneDecision& decision, std::span<const int32_t> moved, const LaneSizes& sizes) {
  const auto n = std::min<int64_t>(std::ssize(moved), sizes.turns * sizes.places);
  const int64_t each = sizes.turns > 0 ? std::max<int64_t>(1, (n + sizes.turns - 1) / sizes.turns) : 1;
  for (int64_t i = 0; i < n; ++i) {
    const auto expert = static_cast<size_t>(moved[static_cast<size_t>(i)]);
    auto& turn = decision.moved[static_cast<size_t>(i / each)];
    decision.place[expert] = ExpertPlace::landed;
    decision.turn[expert] = static_cast<int32_t>(i / each);
    decision.at[expert] = static_cast<int32_t>(turn.size());
    turn.push_back(moved[static_cast<size_t>(i)]);
  }
}

}  // namespace

LaneDecision decide_lanes(std::span<const int64_t> loads, std::span<const int32_t> slot_of, const ExpertCosts& costs,
                          const ScheduleRule* rule, const LaneSizes& sizes) {
  TANDEM_CHECK(sizes.turns >= 0 && sizes.turns <= kMostTurns, "turns of a decision");
  LaneDecision decision;
  decision.place.assign(loads.size(), ExpertPlace::none);
  decision.turn.assign(loads.size(), 0);
  decision.at.assign(loads.size(), kElsewhere);
  const ActiveExperts active = active_experts(loads, slot_of);
  if (active.ids.empty()) return decision;
  const LayerExperts layer(active.loads, active.cached, costs);
  const ExpertSchedule schedule = rule != nullptr ? rule->make(layer) : best_schedule(layer).schedule;
  decision.seconds = schedule.makespan();
  for (const int32_t expert : active.ids) decision.place[static_cast<size_t>(expert)] = ExpertPlace::host;
  for (const int32_t i : schedule.on(ExpertLane::gpu)) {
    const auto expert = static_cast<size_t>(active.ids[static_cast<size_t>(i)]);
    if (slot_of[expert] < 0) continue;  // the link brings it
    decision.place[expert] = ExpertPlace::slot;
    decision.at[expert] = slot_of[expert];
  }
  std::vector<int32_t> moved;
  for (const int32_t i : schedule.on(ExpertLane::link)) moved.push_back(active.ids[static_cast<size_t>(i)]);
  land(decision, moved, sizes);
  return decision;
}

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
