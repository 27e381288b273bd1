// One run of a plan as spans of a timeline: what every device did, and what it waited for.
//
// Contract: pure, but for the positions of attention, which are read from their operand where it has memory. A device
// waits from the end of its step before until the steps of others that this one waits for have ended; what is left
// until this one starts is nobody's fault but its own (noticing, launching) and no span. One span a launch, under the
// track of the device's id; bytes and flops are on the first span of each operator (work(); attention's by its real
// positions, engine/measure/roofline.h).
#pragma once

#include <span>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/run/timeline.h"

namespace tandem {

// What a device measured, in order of execution (DeviceSpan), by step of the plan.
struct StepSpan {
  int step = 0, op = -1;  // op: index in the step; -1: the whole step
  double start_seconds = 0, end_seconds = 0;
  bool alone = false;
};

// measured: one list for each of the plan's devices. start and end: of the run, as its orchestrator saw it.
void add_pass(Timeline& timeline, const Plan& plan, std::span<const std::vector<StepSpan>> measured, double start,
              double end);

inline constexpr const char* kPassTrack = "orchestrator";  // its span ends the spans of a pass

}  // namespace tandem
