// N9, dense-only: matmuls that every token goes through run on the NPU, experts on the GPU (or the host).
#include "engine/plan/npu_graphs.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_moe_dense_only(const PlanRequest& request) {
  return multiply_on_npu(request, "moe-dense-only", cheaper_layout);
}

}  // namespace

extern const Strategy moe_dense_only;
const Strategy moe_dense_only{
    .name = "moe-dense-only",
    .explains = "N9: matmuls of all tokens on the NPU, experts on the GPU",
    .make = make_moe_dense_only,
    .weighs = true,
    .auto_needs = {.experts = true},
};

}  // namespace tandem::plans
