// How long a pass may take before a wait for it is an error.
#pragma once

#include <chrono>

#include "engine/plan/plan.h"

namespace tandem {

// The time of the plan's work at the rates of a very slow machine: 5 GFLOP/s, and 50 MB/s for experts that are read
// from a file. At least `least`. Contract: pure.
std::chrono::milliseconds pass_deadline(const Plan& plan, std::chrono::milliseconds least);

}  // namespace tandem
