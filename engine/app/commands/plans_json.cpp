#include "engine/app/commands/plans_json.h"

#include <nlohmann/json.hpp>

namespace tandem::app {

nlohmann::json plans_json(std::span<const PlanRan> plans) {
  nlohmann::json array = nlohmann::json::array();
  for (const PlanRan& ran : plans)
    array.push_back({{"tokens", ran.tokens}, {"plan", ran.plan}, {"passes", ran.passes}});
  return array;
}

nlohmann::json router_json(const RouterMargins& margins) {
  return {{"decisions", margins.decisions},
          {"near_ties", margins.near_ties},
          {"smallest_margin", margins.smallest},
          {"near_below", kNearTie}};
}

}  // namespace tandem::app
