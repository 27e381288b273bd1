// H12, chunked prefill: every matmul in graphs of one size, the last one padded. Batches of fewer than 16 tokens run in
// the smallest graph that holds them.
#include "engine/plan/npu_graphs.h"
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

TokenLayout chunked_graphs(const PlanRequest& request, int npu, const Operator& op) {
  const int64_t S = tokens_of(op);
  const CutLimits limits = cut_limits(request, npu, op);
  return S < kFewestTokens ? padded_layout(S, limits) : chunked_layout(S, limits);
}

Plan make_chunked(const PlanRequest& request) { return multiply_on_npu(request, "chunked", chunked_graphs); }

}  // namespace

extern const Strategy chunked;
const Strategy chunked{
    .name = "chunked",
    .explains = "H12: layer, a prompt's matmuls in chunks of one size, the last one padded",
    .make = make_chunked,
};

}  // namespace tandem::plans
