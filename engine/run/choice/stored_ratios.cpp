#include "engine/run/choice/stored_ratios.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

constexpr const char* kBonuses = "exploration";   // no level has this name
constexpr const char* kEarlierBonuses = "hoped";  // in files of earlier versions
constexpr double kFarthest = 20;                  // a logarithm: half a billion times as long

}  // namespace

nlohmann::json to_json(const PooledRatios& ratios) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, level] : ratios.levels()) json[name] = {level.log_ratio, level.weight};
  if (!ratios.exploration_bonuses().empty()) json[kBonuses] = ratios.exploration_bonuses();
  return json;
}

// Users may edit the file, and it may be damaged. So every value is checked by itself, and a bad one is dropped.
PooledRatios ratios_from(const nlohmann::json& json) {
  PooledRatios ratios;
  if (!json.is_object()) return ratios;
  for (const char* key : {kEarlierBonuses, kBonuses}) {
    const auto bonuses = json.find(key);
    if (bonuses == json.end() || !bonuses->is_object()) continue;
    for (const auto& [name, bonus] : bonuses->items()) {
      if (bonus.is_number() && bonus > 0 && bonus < kFarthest) ratios.set_exploration_bonus(name, bonus);
    }
  }
  for (const auto& [name, value] : json.items()) {
    if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number()) continue;
    const PooledRatios::Level level{value[0], value[1]};
    if (level.weight > 0 && level.weight <= PooledRatios::kMemory && std::abs(level.log_ratio) < kFarthest)
      ratios.set_level(name, level);
  }
  return ratios;
}

}  // namespace tandem
