// One run of a plan as spans of a timeline: what every device did, and how long it waited.
//
// Waits: a device waits from the end of its previous step until the steps of other devices that its next step waits for
// have ended. The time from then until the next step begins is its own (noticing, launching). It is no span.
// Work: there is one span for each launch, on the track with the device's id. Bytes and flops are on the
// first span of each operator, by work() (engine/device/operator.h). For attention they count its real
// positions (engine/measure/roofline.h).
//
// Contract: pure, except that positions of attention are read from their operand if it has memory.
#pragma once

#include <span>
#include <vector>

#include "engine/plan/plan.h"
#include "engine/run/pass/timeline.h"

namespace tandem {

// A span that a device measured (DeviceSpan), with the index of its step in the plan.
struct StepSpan {
  int step = 0, op = -1;  // op: index in the step; -1: the whole step
  double start_seconds = 0, end_seconds = 0;
  bool alone = false;
};

// measured: one list for each device of the plan, in order of execution. start, end: of the run, as the
// orchestrator saw them.
void add_pass(Timeline& timeline, const Plan& plan, std::span<const std::vector<StepSpan>> measured, double start,
              double end);

// The passes among the spans from this index on were fragments of one pass. They become one span, the last one.
void join_passes(Timeline& timeline, size_t first);

inline constexpr const char* kPassTrack = "orchestrator";  // its span comes last among those of a pass

}  // namespace tandem
