// NPUMoE's way through a layer: the tokens of hot experts are gathered into rows of static graphs, which run on the
// NPU; meanwhile another processor computes the rest; the results are added in the order of the experts.
//
//   route ── slots ─┬─ gather ── gate and up, unit, down of every group (NPU) ─┬─ sum
//                   └─ gate and up, unit, down of what is listed (GPU) ────────┘
//
// Which rows are filled is data of a pass, read from memory: no plan depends on it. What the array does not do (N6:
// indexing, comparisons, gathering, activations, sums with weights) the host beside it does.
//
// Contract: pure functions. Where no device can gather, no graph fits, or the NPU would round the weights, the experts
// stay where they would be without an NPU, and a note of the plan says why.
#pragma once

#include "engine/plan/placer.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_request.h"

namespace tandem {

// Where everything but the experts runs.
enum class DenseOn : uint8_t { shared, npu, others };  // as in the plan `tensor`, as in `layer`, not on the NPU

// N9: a plan of these rules. rules: gives those of the request, or others in their place.
Plan plan_with_experts(const PlanRequest& request, const char* name, ExpertRules (*rules)(ExpertRules), DenseOn dense);

}  // namespace tandem
