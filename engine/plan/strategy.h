// The strategies by name (--plan): pure functions that place a decoder's operators on devices and return a plan.
//
// A strategy is one file in engine/plan/strategies that defines a constant of type Strategy. One of the shortest is
// engine/plan/strategies/gpu_only.cpp. The file has the strategy's name, with underscores. The build finds the file
// there, and no other file names it. The baselines of papers are rows of a table in baselines.cpp.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/moe/near_memory_sides.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"
#include "engine/plan/roles.h"

namespace tandem {

// Conditions on a plan's devices under which `auto` tries a strategy.
struct PlanNeeds {
  bool gpu = false, npu = false;
  bool host_alone = false;   // the host, on a thread of its own
  bool host_beside = false;  // the host on another device's thread (DeviceTraits::thread_of)
  bool one_memory = false;   // every device sees the host's memory
  size_t cutters = 0;        // at least so many row_cutters()
  bool experts = false;      // a condition on the model: it has experts
};
// Whether the devices meet the needs. The model is not asked about.
bool are_met(const PlanNeeds& needs, std::span<const DeviceTraits> devices);

struct LaneRules;  // engine/plan/lane_steps.h

struct Strategy {
  const char* name;
  const char* explains;
  Plan (*make)(const PlanRequest& request);
  bool cuts_rows = false;         // asks request.shares
  bool weighs = false;            // asks request.costs
  bool weighs_attention = false;  // asks for costs of attention too, so the plan depends on the positions
  // N9: only for strategies that put experts on the NPU (request.experts). Turns the rules that the user asks for into
  // the strategy's rules. The plan then depends on the counted choices of experts.
  ExpertRules (*expert_rules)(ExpertRules) = nullptr;
  // G3 to G5: only for strategies that put experts on near-memory units (request.units): how experts are divided.
  const NearMemoryRules* near_memory = nullptr;
  // Y2, Y7: only for strategies that divide experts between lanes: how. among_lanes: `auto` chooses among these if
  // experts are copied.
  const LaneRules* lanes = nullptr;
  bool among_lanes = false;
  bool chooses_link = false;         // Y1: has lanes of experts, and passes without the link where it does not pay
  bool prefetches = false;           // Y3: has lanes of experts, and text may copy guessed experts ahead
  std::optional<DeviceRole> only{};  // everything runs on one device with this role: no other is opened for the plan
  bool may_give_way = false;         // even if asked for by name, gives way to a faster plan that `auto` tries
  bool tried_by_auto = false;        // `auto` tries it if auto_needs are met; users can name it in any case
  PlanNeeds auto_needs{};
  // The factor between the time of its prompts and their simulated time, compared with other strategies. Estimates
  // begin with it and then follow measured passes (engine/run/choice/machine_rates.cpp). The simulation leaves out how
  // devices displace each other's data in caches.
  double beside_simulated = 1;
};

std::span<const Strategy> strategies();  // in the order of their names
// The strategies except those for models with experts (PlanNeeds::experts).
std::span<const Strategy> strategies_for_any_model();
// Error that lists the names if there is no such strategy.
const Strategy& find_strategy(std::string_view name);
// The same, but nullptr for "auto", which chooses among strategies.
const Strategy* chosen_strategy(std::string_view plan);

}  // namespace tandem
