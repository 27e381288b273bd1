// H1: matmuls on the NPU, in the cheaper of padding and pipe by request.costs. Without costs they run as in pipe.
#include "engine/plan/npu_graphs.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_layer(const PlanRequest& request) { return multiply_on_npu(request, "layer", cheaper_layout); }

}  // namespace

extern const Strategy layer;
const Strategy layer{
    .name = "layer",
    .explains = "H1: matmuls on the NPU, everything else on the GPU",
    .make = make_layer,
    .weighs = true,
    .tried_by_auto = true,
    .auto_needs = {.npu = true, .cutters = 2},
};

}  // namespace tandem::plans
