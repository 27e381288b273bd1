#include "engine/run/stored_ratios.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

constexpr double kFarthest = 20;  // of a logarithm: half a billion times as long

}  // namespace

nlohmann::json to_json(const PooledRatios& ratios) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, level] : ratios.levels()) json[name] = {level.log_ratio, level.seen};
  return json;
}

PooledRatios ratios_from(const nlohmann::json& json) {
  PooledRatios ratios;
  if (!json.is_object()) return ratios;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number()) continue;
    const PooledRatios::Level level{value[0], value[1]};
    if (level.seen > 0 && level.seen <= PooledRatios::kMemory && std::abs(level.log_ratio) < kFarthest)
      ratios.put(name, level);
  }
  return ratios;
}

}  // namespace tandem
