// H4: several pre-compiled sizes in turn on the NPU, the rest of the tokens on the GPU.
//
// Source: HeteroLLM 4.1.1, multi-sequence-length cutting: 600 tokens are 512 and 32 on the NPU and 56 on the GPU.
#pragma once

#include "engine/plan/cut.h"

namespace tandem {

// One cut for each multiple of limits.token_step below S that several sizes add up to, largest size first.
std::vector<Cut> multi_sequence_cutting(int64_t S, int64_t N, const CutLimits& limits);

}  // namespace tandem
