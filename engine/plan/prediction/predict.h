// Predicts the time of a plan from the costs of its operators. Each device works through its steps in order, and a step
// begins when the steps that it waits for have ended. Devices of one lane (PlanCosts) take turns.
//
// The simulation runs twice. In the first round every operator runs alone. In the second one, some steps have the costs
// for `both` (PlanCosts): those during which another lane was at work for more than half of the time. A step that waits
// also pays sync_seconds.
//
// Contract: pure. Seconds are those of `costs`, estimated for this machine or modelled.
#pragma once

#include <vector>

#include "engine/plan/costs.h"
#include "engine/plan/plan.h"

namespace tandem {

struct PredictedStep {
  double start_seconds = 0, end_seconds = 0;
  std::vector<double> operator_seconds;  // one for each operator of the step
};

struct Prediction {
  double seconds = 0;                // until the last step has ended
  std::vector<PredictedStep> steps;  // in the plan's order
  std::vector<double> busy_seconds;  // for each device, without waits
};
Prediction predict(const Plan& plan, const PlanCosts& costs);

}  // namespace tandem
