// H12, the baseline "Pipe": every matmul runs in several standard sizes in turn, and the margin is padded.
#include "engine/plan/npu_graphs.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

TokenLayout pipe_graphs(const PlanRequest& request, int npu, const Operator& op) {
  return pipe_layout(tokens_of(op), cut_limits(request, npu, op));
}

Plan make_pipe(const PlanRequest& request) { return multiply_on_npu(request, "pipe", pipe_graphs); }

}  // namespace

extern const Strategy pipe;
const Strategy pipe{
    .name = "pipe",
    .explains = "H12: layer, each matmul in several of the NPU's sizes in turn, the margin padded",
    .make = make_pipe,
};

}  // namespace tandem::plans
