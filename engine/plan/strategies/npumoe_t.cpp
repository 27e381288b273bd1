// N9, base + T: capacities in tiers (N2).
#include "engine/plan/expert_steps.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_npumoe_t(const PlanRequest& request) {
  return plan_with_experts(request, "npumoe-t", tier_rules, DenseOn::shared);
}

}  // namespace

extern const Strategy npumoe_t;
const Strategy npumoe_t{
    .name = "npumoe-t",
    .explains = "N9: npumoe-base with capacities in tiers (N2)",
    .make = make_npumoe_t,
    .cuts_rows = true,
    .weighs = true,
    .weighs_attention = true,
    .expert_rules = tier_rules,
    .auto_needs = {.experts = true},
};

}  // namespace tandem::plans
