// The ways to place a decoder's operators on devices, by name (--plan): pure functions from operators to a plan.
//
// A strategy is one file in strategies/, named as the strategy with underscores, that defines a constant of this type
// (strategies/gpu_only.cpp is the shortest). The build finds it there; nothing else names it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// What the devices of a plan must be for `auto` to try a strategy on them.
struct PlanNeeds {
  bool gpu = false, npu = false;
  bool host_alone = false;   // the host, on a thread of its own
  bool host_beside = false;  // the host on another device's thread (DeviceTraits::thread_of)
  bool one_memory = false;   // every device sees the host's memory
  size_t cutters = 0;        // at least so many row_cutters()
  bool experts = false;      // and for the model: it has experts
};
bool are_met(const PlanNeeds& needs, std::span<const DeviceTraits> devices);

struct Strategy {
  const char* name;
  const char* explains;
  Plan (*make)(const PlanRequest& request);
  bool cuts_rows = false;         // asks request.shares
  bool weighs = false;            // asks request.costs
  bool weighs_attention = false;  // asks them of attention too: the plan depends on the positions
  // N9: of a strategy that puts experts on the NPU, as request.experts says, by these rules made of those that are
  // asked for; the plan depends on what was counted.
  ExpertRules (*expert_rules)(ExpertRules) = nullptr;
  std::optional<DeviceKind> only{};  // everything runs on one device of this kind: no other is opened for the plan
  bool may_give_way = false;         // asked for by name, it runs only where no plan that `auto` tries is faster
  bool tried_by_auto = false;        // where auto_needs are met; anywhere else it can be asked for by name
  PlanNeeds auto_needs{};
  // How many times as long as simulated its prompts take, beside those of other strategies, until passes have shown it:
  // what devices take from each other's caches is not simulated.
  double beside_simulated = 1;
};

std::span<const Strategy> strategies();  // in the order of their names
// Without those that say something about experts alone (PlanNeeds::experts).
std::span<const Strategy> strategies_for_any_model();
// Error listing the names when there is no such strategy.
const Strategy& find_strategy(std::string_view name);
// The same, but nullptr for "auto", which is a choice among them.
const Strategy* chosen_strategy(std::string_view plan);

}  // namespace tandem
