// Measures a machine for its processor profile (engine/plan/machine_profile.h).
//
// Contract: rows are those of the profiler (engine/run/profiler.h); their operators' buffers are overwritten. One
// thread, the executor's.
#pragma once

#include <span>
#include <string>

#include "engine/device/device.h"
#include "engine/plan/machine_profile.h"
#include "engine/run/executor.h"
#include "engine/run/profiler.h"

namespace tandem {

// What the rows say of two devices; everything but the crossing and the texts. Error: no operator of a single token on
// the GPU.
MachineMeasurements measurements_of(std::span<const ProfileRow> rows, const std::string& gpu, const std::string& npu);

// Seconds from the end of a step on one device to the start of a step on the other one that waits for it (H7): a plan
// of tiny steps in turn on both devices, less the same steps on each device alone. 0: not longer than those. `op` runs
// on both.
double measure_crossing(Executor& executor, Device& gpu, Device& npu, const MatMul& op);

}  // namespace tandem
