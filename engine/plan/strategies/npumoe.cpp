// N1 to N8: experts in tiers and groups. A group runs on the NPU only if the layer then ends sooner (N4).
#include "engine/plan/expert_steps.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

ExpertRules as_asked(ExpertRules rules) { return rules; }

Plan make_npumoe(const PlanRequest& request) { return plan_with_experts(request, "npumoe", as_asked, DenseOn::shared); }

}  // namespace

extern const Strategy npumoe;
const Strategy npumoe{
    .name = "npumoe",
    .explains = "N1-N8: hot experts in static groups on the NPU, the rest on the GPU at the same time",
    .make = make_npumoe,
    .cuts_rows = true,
    .weighs = true,
    .weighs_attention = true,
    .expert_rules = as_asked,
    .tried_by_auto = true,
    .auto_needs = {.npu = true, .host_beside = true, .one_memory = true, .cutters = 2, .experts = true},
};

}  // namespace tandem::plans
