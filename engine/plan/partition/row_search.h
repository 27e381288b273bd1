// Where the two sides of a row cut end together: a search among cuts that differ in nothing but the NPU's rows.
//
// The more rows the NPU has, the longer it takes and the shorter the GPU does, so the best cut stands where the two
// times cross: it is the last one with T_npu < T_gpu or the first one with T_npu >= T_gpu.
#pragma once

#include <cstddef>

#include "engine/plan/partition/solver.h"
#include "engine/plan/partition/token_layout.h"

namespace tandem {

// The best of `run` (not empty); looks near `guess` first. Where the times that it meets are not monotone it prices all
// of them.
struct FoundCut {
  size_t index = 0;
  Priced priced;
};
FoundCut best_of_run(const RowCuts& run, const CutCosts& costs, size_t guess);

}  // namespace tandem
