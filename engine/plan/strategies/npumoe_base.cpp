// N9, base: every expert is a graph of its own, and all have the same capacity. Other matmuls are cut as in tensor.
#include "engine/plan/expert_steps.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_npumoe_base(const PlanRequest& request) {
  return plan_with_experts(request, "npumoe-base", base_rules, DenseOn::shared);
}

}  // namespace

extern const Strategy npumoe_base;
const Strategy npumoe_base{
    .name = "npumoe-base",
    .explains = "N9: each expert a graph of its own on the NPU, all of one capacity; other matmuls as in tensor",
    .make = make_npumoe_base,
    .cuts_rows = true,
    .weighs = true,
    .weighs_attention = true,
    .expert_rules = base_rules,
    .auto_needs = {.experts = true},
};

}  // namespace tandem::plans
