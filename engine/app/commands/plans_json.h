// What became of a run, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "engine/moe/near_ties.h"
#include "engine/run/plans_ran.h"

namespace tandem::app {

// [{"tokens": 256, "plan": "sequence", "passes": 2}, ...]
nlohmann::json plans_json(std::span<const PlanRan> plans);

// How near a mixture of experts came to other decisions: {"decisions", "near_ties", "smallest_margin", "near_below"}.
nlohmann::json router_json(const RouterMargins& margins);

}  // namespace tandem::app
