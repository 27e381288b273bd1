// Searches the best of row cuts that differ only in the number of the NPU's rows.
//
// With more rows the NPU takes longer and the GPU shorter. So the best cut stands where the two times cross: it is the
// last one with T_npu < T_gpu, or the first one with T_npu >= T_gpu.
//
// Contract: a pure function.
#pragma once

#include <cstddef>

#include "engine/plan/partition/solver.h"
#include "engine/plan/partition/token_layout.h"

namespace tandem {

// The best cut of `run`, which is not empty. The search begins near `guess`. It prices all cuts if the times that it
// meets are not monotone.
struct FoundCut {
  size_t index = 0;
  Priced priced;
};
FoundCut best_of_run(const RowCuts& run, const CutCosts& costs, size_t guess);

}  // namespace tandem
