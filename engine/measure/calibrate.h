// Measures a machine for its processor profile (engine/plan/model_clock/machine_profile.h).
//
// Contract: the rows come from the profiler (engine/measure/profiler.h). The operators' buffers are overwritten. One
// thread, the executor's.
#pragma once

#include <span>
#include <string>

#include "engine/device/device.h"
#include "engine/measure/profiler.h"
#include "engine/plan/model_clock/machine_profile.h"
#include "engine/run/pass/executor.h"

namespace tandem {

// Turns the rows of a GPU and an NPU into measurements, with the least of each row's samples. The chains and the texts
// stay empty. Error: the GPU has no row of a small operator with a single token.
MachineMeasurements measurements_of(std::span<const ProfileRow> rows, const std::string& gpu, const std::string& npu);

// Times of the matmuls of one pass, each cut by rows between both devices. The NPU's part is at least as large
// as the GPU's.
struct CutChain {
  double bytes_per_second = 0;  // of weights, while both devices read and neither waits
  double join_seconds = 0;      // what waiting for each other costs a matmul (H7); 0: nothing measurable
};

// Runs the cut matmuls in two ways. Side by side: both devices without waits. In turn, as in a pass: an operator on the
// GPU alone, both parts of a matmul behind it, the next operator behind both.
// The difference, less the time of the added operators, is the cost of the joins (median of all samples). Waiting
// because the parts end unevenly is a part of it. All weights come from memory, as in a pass. `pass`: its operators,
// with as many tokens as the chain should have.
CutChain measure_cut_chain(Executor& executor, Device& gpu, Device& npu, std::span<const Operator> pass);

}  // namespace tandem
