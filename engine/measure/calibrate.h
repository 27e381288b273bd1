// Measures a machine for its processor profile (engine/plan/model_clock/machine_profile.h).
//
// Contract: rows are those of the profiler (engine/measure/profiler.h); operators' buffers are overwritten. One thread,
// the executor's.
#pragma once

#include <span>
#include <string>

#include "engine/device/device.h"
#include "engine/measure/profiler.h"
#include "engine/plan/model_clock/machine_profile.h"
#include "engine/run/executor.h"

namespace tandem {

// What the rows say of two devices, the least of each one's samples; everything but the chains and the texts. Error: no
// small operator of a single token on the GPU.
MachineMeasurements measurements_of(std::span<const ProfileRow> rows, const std::string& gpu, const std::string& npu);

// Of the matmuls of one pass, each cut by rows between both devices, the NPU's part never the smaller one.
struct CutChain {
  double bytes_per_second = 0;  // of weights, both devices reading, nobody waiting
  double join_seconds = 0;      // what waiting for each other costs a matmul (H7); 0: nothing
};

// Runs them beside each other without waits, and in turn as a pass does: an operator on the GPU alone before each
// matmul, both parts behind it, the next one behind both. What one takes longer than the other, less those operators,
// is the joins', in the median: waiting unevenly is a part of it. All weights come from memory, as in a pass. `pass`:
// its operators, with as many tokens as the chain is to have.
CutChain measure_cut_chain(Executor& executor, Device& gpu, Device& npu, std::span<const Operator> pass);

}  // namespace tandem
