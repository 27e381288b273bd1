// H12, the baseline "Padding": the NPU alone, all tokens in the next standard size.
//
// Source: HeteroLLM 4.1.1 and 5.2.2: 300 tokens run in a graph of 512.
#pragma once

#include <optional>

#include "engine/plan/cut.h"

namespace tandem {

// Tokens that the largest size does not hold go in several graphs. Nothing: the buffers do not hold the padding.
std::optional<Cut> padding(int64_t S, int64_t N, const CutLimits& limits);

}  // namespace tandem
