// The plans that ran, as JSON: [{"tokens": 256, "plan": "sequence", "passes": 2}, ...].
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "engine/run/plans_ran.h"

namespace tandem::app {

nlohmann::json plans_json(std::span<const PlanRan> plans);

}  // namespace tandem::app
