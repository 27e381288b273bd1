// `tandem plan-experts`: how the active experts of one layer are best divided, computed from numbers alone: between a
// processor and a GPU (Y2; docs/hybrimoe.md), or between near-memory units and a GPU (G3, G4; docs/gpu-ndp.md).
#pragma once

#include "engine/app/command.h"

namespace tandem::app {

void add_plan_experts(CLI::App& app, Action& action);

}  // namespace tandem::app
