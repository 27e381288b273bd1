// H3 with whole layers: a prompt cut in two along its tokens, each part taken through all layers by processors of its
// own. The first tokens go to the NPU, with the host core beside it for what the array does not run; the rest to the
// GPU. The NPU multiplies its tokens in pre-compiled sizes, one after another. Every activation stays where it was
// made: the only thing handed over is the cache's keys and values. When the NPU is through with its tokens it helps:
// what is left to the GPU is cut by rows.
//
// Source: HeteroLLM's sequence-length cutting (H3) for one operator; here the same cut holds for all of them,
// and H2 for the end of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/plan/cut.h"

namespace tandem {

struct Plan;
struct PlanRequest;

// Tokens of S that the second processor takes so that both end together, when it took `seconds_second` for half of them
// and the first one `seconds_first` for the other half: a multiple of limits.token_step below S that pre-compiled sizes
// add up to, or 0. Help at the end is not counted on: it pays for a rest, not for tokens in more and smaller graphs.
int64_t balanced_tokens(int64_t S, double seconds_first, double seconds_second, const CutLimits& limits);

// Of operators that the first processor runs in order, taking these seconds, the first one that begins when the second
// processor has nothing else to do any more; their number: none does.
size_t first_shared(std::span<const double> seconds_first, double seconds_second);

// The strategy. Batches of fewer than 16 tokens, and what follows the last layer for fewer tokens than the batch has,
// go as in `tensor`. Needs a GPU, an NPU and the host, and request.costs.
Plan sequence(const PlanRequest& request);

}  // namespace tandem
