// How long a plan takes by what its operators cost: each device works through its steps in order, and a step begins
// when what it waits for has ended. Devices of one lane (PlanCosts) work in turn.
//
// Contract: pure. Seconds are of the clock that `costs` are of, measured or modelled. Two rounds: the first takes every
// operator as running alone; in the second, those that then ran beside another device for more than half of their time
// cost what they cost beside it (PlanCosts, `both`). What waiting costs is added to every step that waits.
#pragma once

#include <vector>

#include "engine/plan/costs.h"
#include "engine/plan/plan.h"

namespace tandem {

struct PredictedStep {
  double start_seconds = 0, end_seconds = 0;
  std::vector<double> operator_seconds;  // of each operator of the step
};

struct Prediction {
  double seconds = 0;                // until the last step has ended
  std::vector<PredictedStep> steps;  // as the plan's
  std::vector<double> busy_seconds;  // per device, waits not counted
};
Prediction predict(const Plan& plan, const PlanCosts& costs);

}  // namespace tandem
