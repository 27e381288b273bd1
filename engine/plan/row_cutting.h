// H2: output rows cut between the two sides, all tokens on both.
//
// Source: HeteroLLM 4.1.1, row-cutting: the two parts run at once, on rows of one weight matrix.
#pragma once

#include "engine/plan/cut.h"

namespace tandem {

// One cut for each number of NPU rows in steps of limits.row_step, rising. None where no graphs have exactly S tokens
// together, or only with graphs of less than limits.token_step: hybrid cutting (H5) pads.
std::vector<Cut> row_cutting(int64_t S, int64_t N, const CutLimits& limits);

}  // namespace tandem
