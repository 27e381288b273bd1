// N9, naive: every expert is a graph of its own with room for the whole chunk; everything else runs beside the NPU.
#include "engine/plan/expert_steps.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_moe_naive(const PlanRequest& request) {
  return plan_with_experts(request, "moe-naive", naive_rules, DenseOn::others);
}

}  // namespace

extern const Strategy moe_naive;
const Strategy moe_naive{
    .name = "moe-naive",
    .explains = "N9: every expert a graph of its own on the NPU, with room for all tokens; everything else on the GPU",
    .make = make_moe_naive,
    .weighs = true,
    .expert_rules = naive_rules,
    .auto_needs = {.experts = true},
};

}  // namespace tandem::plans
