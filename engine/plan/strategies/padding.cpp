// H12, the baseline "Padding": every matmul is padded to the next standard size.
#include "engine/plan/npu_graphs.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

TokenLayout padding_graphs(const PlanRequest& request, int npu, const Operator& op) {
  return padded_layout(tokens_of(op), cut_limits(request, npu, op));
}

Plan make_padding(const PlanRequest& request) { return multiply_on_npu(request, "padding", padding_graphs); }

}  // namespace

extern const Strategy padding;
const Strategy padding{
    .name = "padding",
    .explains = "H12: layer, each matmul padded to the NPU's next size",
    .make = make_padding,
};

}  // namespace tandem::plans
