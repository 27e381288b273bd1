#include "engine/plan/strategy.h"

#include <algorithm>
#include <string>

#include "engine/plan/strategy_list.h"
#include "sync/error.h"

namespace tandem {

// Joins the strategies of the source files with the papers' baselines. Names sort them, so lists and messages have one
// order on every machine.
std::span<const Strategy> strategies() {
  static const std::vector<Strategy> all = [] {
    std::vector<Strategy> listed;
    for (const Strategy* strategy : listed_strategies()) listed.push_back(*strategy);
    listed.insert(listed.end(), baselines().begin(), baselines().end());
    std::ranges::sort(listed, {}, [](const Strategy& strategy) { return std::string_view(strategy.name); });
    return listed;
  }();
  return all;
}

// Leaves out plans that need a model with experts.
std::span<const Strategy> strategies_for_any_model() {
  static const std::vector<Strategy> all = [] {
    std::vector<Strategy> some(strategies().begin(), strategies().end());
    std::erase_if(some, [](const Strategy& strategy) { return strategy.auto_needs.experts; });
    return some;
  }();
  return all;
}

// An unknown name is an error that lists the known ones.
const Strategy& find_strategy(std::string_view name) {
  std::string names;
  for (const Strategy& strategy : strategies()) {
    if (strategy.name == name) return strategy;
    names += (names.empty() ? "" : ", ") + std::string(strategy.name);
  }
  throw Error("unknown plan", std::string(name), "Use one of: " + names + ", auto (`--plan list --all` explains them)");
}

// null stands for `auto`: the planner then chooses by predicted times.
const Strategy* chosen_strategy(std::string_view plan) { return plan == "auto" ? nullptr : &find_strategy(plan); }

// A need that is not set is met by any devices, so each term reads: not needed, or there.
bool are_met(const PlanNeeds& needs, std::span<const DeviceTraits> devices) {
  const auto any = [&](const auto& is) { return std::ranges::any_of(devices, is); };
  const auto host = [](const DeviceTraits& device) { return role_of(device) == DeviceRole::helper; };
  return (!needs.gpu || first_with(devices, DeviceRole::general) >= 0) &&
         (!needs.npu || first_with(devices, DeviceRole::graphs) >= 0) &&
         (!needs.host_alone || any([&](const DeviceTraits& each) { return host(each) && each.thread_of.empty(); })) &&
         (!needs.host_beside || any([&](const DeviceTraits& each) { return host(each) && !each.thread_of.empty(); })) &&
         (!needs.one_memory || std::ranges::all_of(devices, &DeviceTraits::zero_copy)) &&
         row_cutters(devices).size() >= needs.cutters;
}

}  // namespace tandem
