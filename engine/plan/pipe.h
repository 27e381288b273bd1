// H12, the baseline "Pipe": the NPU alone, several standard sizes in turn, largest first; what is left over, the
// margin, is padded to the smallest size that holds it.
//
// Source: HeteroLLM 5.2.2.
#pragma once

#include <optional>

#include "engine/plan/cut.h"

namespace tandem {

// Nothing: the buffers do not hold the padding, and no sizes add up to S.
std::optional<Cut> pipe(int64_t S, int64_t N, const CutLimits& limits);

}  // namespace tandem
