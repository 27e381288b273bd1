#include "engine/app/commands/plans_json.h"

#include <nlohmann/json.hpp>

namespace tandem::app {

nlohmann::json plans_json(std::span<const PlanRan> plans) {
  nlohmann::json array = nlohmann::json::array();
  for (const PlanRan& ran : plans)
    array.push_back({{"tokens", ran.tokens}, {"plan", ran.plan}, {"passes", ran.passes}});
  return array;
}

}  // namespace tandem::app
