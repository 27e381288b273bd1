// N9, base + T + G: capacities in tiers (N2), and the experts of a tier in groups (N3).
#include "engine/plan/expert_steps.h"
#include "engine/plan/strategy.h"

namespace tandem::plans {
namespace {

Plan make_npumoe_tg(const PlanRequest& request) {
  return plan_with_experts(request, "npumoe-tg", tier_group_rules, DenseOn::shared);
}

}  // namespace

extern const Strategy npumoe_tg;
const Strategy npumoe_tg{
    .name = "npumoe-tg",
    .explains = "N9: npumoe-t with experts of a tier in one graph (N3)",
    .make = make_npumoe_tg,
    .cuts_rows = true,
    .weighs = true,
    .weighs_attention = true,
    .expert_rules = tier_group_rules,
    .auto_needs = {.experts = true},
};

}  // namespace tandem::plans
