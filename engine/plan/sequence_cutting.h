// H3: one pre-compiled size of tokens on the NPU, the odd rest on the GPU.
//
// Source: HeteroLLM 4.1.1, sequence-length cutting: 300 tokens are 256 on the NPU and 44 on the GPU.
#pragma once

#include "engine/plan/cut.h"

namespace tandem {

// One cut for each size below S that is a multiple of limits.token_step, rising.
std::vector<Cut> sequence_cutting(int64_t S, int64_t N, const CutLimits& limits);

}  // namespace tandem
