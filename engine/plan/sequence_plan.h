// H3 with whole layers: a prompt cut in two along its tokens, each part taken through all layers by processors of its
// own. The first tokens go to the NPU, with the host core beside it for what the array does not run; the rest to the
// GPU. The NPU multiplies its tokens in pre-compiled sizes, one after another. Every activation stays where it was
// made: the only thing handed over is the cache's keys and values.
//
// Source: HeteroLLM's sequence-length cutting (H3) for one operator; here the same cut holds for all of them.
#pragma once

#include <cstdint>

#include "engine/plan/cut.h"

namespace tandem {

struct Plan;
struct PlanRequest;

// Tokens of S that the second processor takes so that both end together, when it took `seconds_second` for half of them
// and the first one `seconds_first` for the other half: a multiple of limits.token_step below S that pre-compiled sizes
// add up to, or 0.
int64_t balanced_tokens(int64_t S, double seconds_first, double seconds_second, const CutLimits& limits);

// The strategy. Batches of fewer than 16 tokens, and what follows the last layer for fewer tokens than the batch has,
// go as in `tensor`. Needs a GPU, an NPU and the host, and request.costs.
Plan sequence(const PlanRequest& request);

}  // namespace tandem
