// Ratios on disk (engine/plan/prediction/pooled_ratios.h): an object with a pair for each level, {"matmul i4": [0.25,
// 12]}; and under "hoped", for each that is hoped to be faster by now, by how much of a logarithm.
//
// Contract: pure. What does not read as a level is left out, and what is no object has none: the file may have been
// damaged, or edited.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/plan/prediction/pooled_ratios.h"

namespace tandem {

nlohmann::json to_json(const PooledRatios& ratios);
PooledRatios ratios_from(const nlohmann::json& json);

}  // namespace tandem
