// Y1: how long the lanes of experts took in a measured pass.
//
// Contract: a pure function. A plan without lanes has no times.
#pragma once

#include "engine/plan/plan.h"
#include "engine/run/machine/lane_decider.h"
#include "engine/run/pass/executor.h"

namespace tandem {

LaneSeconds lane_seconds(const Plan& plan, const PassSpans& spans);

}  // namespace tandem
