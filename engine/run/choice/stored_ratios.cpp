#include "engine/run/choice/stored_ratios.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/plan/prediction/operator_class.h"
#include "engine/plan/prediction/pass_class.h"

namespace tandem {
namespace {

constexpr const char* kBonuses = "exploration";   // no level has this name
constexpr const char* kEarlierBonuses = "hoped";  // in files of earlier versions
constexpr double kFarthest = 20;                  // a logarithm: half a billion times as long

}  // namespace

// Each level has its mean and its weight, under the level's name.
template <typename Class>
nlohmann::json to_json(const PooledRatios<Class>& ratios) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [level, mean] : ratios.levels()) json[to_string(level)] = {mean.log_ratio, mean.weight};
  for (const auto& [level, bonus] : ratios.exploration_bonuses()) json[kBonuses][to_string(level)] = bonus;
  return json;
}

// Users may edit the file, and it may be damaged. So every value is checked by itself, and a bad one is dropped.
template <typename Class>
PooledRatios<Class> ratios_from(const nlohmann::json& json) {
  PooledRatios<Class> ratios;
  if (!json.is_object()) return ratios;
  for (const char* key : {kEarlierBonuses, kBonuses}) {
    const auto bonuses = json.find(key);
    if (bonuses == json.end() || !bonuses->is_object()) continue;
    for (const auto& [name, bonus] : bonuses->items()) {
      const std::optional<Class> level = Class::named(name);
      if (level && bonus.is_number() && bonus > 0 && bonus < kFarthest) ratios.set_exploration_bonus(*level, bonus);
    }
  }
  for (const auto& [name, value] : json.items()) {
    if (name == kBonuses || name == kEarlierBonuses) continue;
    if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number()) continue;
    const std::optional<Class> level = Class::named(name);
    const typename PooledRatios<Class>::Level mean{value[0], value[1]};
    if (level && mean.weight > 0 && mean.weight <= PooledRatios<Class>::kMemory && std::abs(mean.log_ratio) < kFarthest)
      ratios.set_level(*level, mean);
  }
  return ratios;
}

template nlohmann::json to_json(const PooledRatios<OperatorClass>&);
template nlohmann::json to_json(const PooledRatios<PassClass>&);
template PooledRatios<OperatorClass> ratios_from(const nlohmann::json&);
template PooledRatios<PassClass> ratios_from(const nlohmann::json&);

}  // namespace tandem
