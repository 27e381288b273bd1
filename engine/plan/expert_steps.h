// Makes plans for models with experts, as NPUMoE runs a layer. The tokens of hot experts are gathered into rows of
// static graphs, which run on the NPU. Another processor computes the other choices meanwhile. The results are added in
// the order of the experts.
//
//   route ── slots ─┬─ gather ── gate and up, unit, down of every group (NPU) ─┬─ sum
//                   └─ gate and up, unit, down of listed choices (GPU) ────────┘
//
// The unit is the gated linear unit (Glu). The rows that are filled are data of a pass, read from memory, so no plan
// depends on them. The host beside the NPU does what the array does not do (N6): indexing, comparisons, gathering,
// activations, weighted sums.
//
// Contract: pure functions. Sometimes the experts stay where they would be without an NPU, and a note of the plan says
// why: no device can gather, no graph fits, or the NPU would round the weights.
#pragma once

#include "engine/plan/placer.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// The place of all operators other than the experts'.
enum class DenseOn : uint8_t {
  shared,  // as in the plan `tensor`
  npu,     // as in the plan `layer`
  others   // not on the NPU
};

// N9: a plan by the rules that `rules` makes of the request's rules. A request without experts counts as default rules.
Plan plan_with_experts(const PlanRequest& request, const char* name, ExpertRules (*rules)(ExpertRules), DenseOn dense);

}  // namespace tandem
