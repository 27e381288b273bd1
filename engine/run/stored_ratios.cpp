#include "engine/run/stored_ratios.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

constexpr const char* kHoped = "hoped";  // no level has this name
constexpr double kFarthest = 20;         // of a logarithm: half a billion times as long

}  // namespace

nlohmann::json to_json(const PooledRatios& ratios) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, level] : ratios.levels()) json[name] = {level.log_ratio, level.seen};
  if (!ratios.hopes().empty()) json[kHoped] = ratios.hopes();
  return json;
}

PooledRatios ratios_from(const nlohmann::json& json) {
  PooledRatios ratios;
  if (!json.is_object()) return ratios;
  if (const auto hopes = json.find(kHoped); hopes != json.end() && hopes->is_object()) {
    for (const auto& [name, hoped] : hopes->items()) {
      if (hoped.is_number() && hoped > 0 && hoped < kFarthest) ratios.put_hope(name, hoped);
    }
  }
  for (const auto& [name, value] : json.items()) {
    if (!value.is_array() || value.size() != 2 || !value[0].is_number() || !value[1].is_number()) continue;
    const PooledRatios::Level level{value[0], value[1]};
    if (level.seen > 0 && level.seen <= PooledRatios::kMemory && std::abs(level.log_ratio) < kFarthest)
      ratios.put(name, level);
  }
  return ratios;
}

}  // namespace tandem
