// H1, but every operator is offered to the NPU first. Operators that it refuses fall back, with a note of the plan.
#include "engine/plan/npu_graphs.h"
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

// Offers the NPU also the operators that it will refuse, so that the plan's notes name each of their kinds.
Plan make_npu_only(const PlanRequest& request) {
  const NpuBeside on = npu_beside(request, "npu-only");
  Placer placer(request);
  for (const Operator& op : request.operators) {
    if (std::holds_alternative<MatMul>(op.body)) {
      placer.place_in_graphs(op, on.npu, on.others, cheaper_layout(request, on.npu, op));
    } else {
      placer.place(op, on.npu, on.others);
    }
  }
  return placer.finish("npu-only");
}

}  // namespace

extern const Strategy npu_only;
const Strategy npu_only{
    .name = "npu-only",
    .explains = "every operator on the NPU; what it cannot run falls back to the GPU, and is named",
    .make = make_npu_only,
    .weighs = true,
};

}  // namespace tandem::plans
