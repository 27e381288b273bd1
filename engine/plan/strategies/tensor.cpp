// H2 to H6 and H9: the solver decides how each matmul is cut, once for each shape.
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_tensor(const PlanRequest& request) {
  require_two_cutters(request, "tensor");
  Placer placer(request);
  placer.place_as_tensor(request.operators, false);
  return placer.finish("tensor");
}

}  // namespace

extern const Strategy tensor;
const Strategy tensor{
    .name = "tensor",
    .explains = "H2-H6, H9: each matmul on GPU, NPU or both, cut as the solver predicts the least time",
    .make = make_tensor,
    .cuts_rows = true,
    .weighs = true,
    .weighs_attention = true,
    .may_give_way = true,
    .tried_by_auto = true,
    .auto_needs = {.npu = true, .cutters = 2},
};

}  // namespace tandem::plans
