// A plan with its predicted times as JSON: a phase of `tandem plan --json`.
//
// Contract: pure. Times are milliseconds of the prediction's clock.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/plan/plan.h"
#include "engine/plan/prediction/predict.h"

namespace tandem {

struct PlannedPhase {
  std::string name;             // "prefill", "decode"
  int64_t S = 0, position = 0;  // tokens, and the position of the first
};

nlohmann::json plan_json(const PlannedPhase& phase, const Plan& plan, const Prediction& prediction);

}  // namespace tandem
