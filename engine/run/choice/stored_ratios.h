// Ratios on disk (engine/plan/prediction/pooled_ratios.h): an object with a pair for each level, {"matmul i4": [0.25,
// 12]}. The key "exploration" has an object with the exploration bonus of each level that has one, as a logarithm.
// Levels are the texts of classes (operator_class.h, pass_class.h).
//
// Contract: pure. The file may be damaged or edited: an entry that is no level of a class is skipped, and a value
// that is no object has no levels. Files of earlier versions have their bonuses under "hoped", which is read as well.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/plan/prediction/pooled_ratios.h"

namespace tandem {

template <typename Class>
nlohmann::json to_json(const PooledRatios<Class>& ratios);
template <typename Class>
PooledRatios<Class> ratios_from(const nlohmann::json& json);

}  // namespace tandem
