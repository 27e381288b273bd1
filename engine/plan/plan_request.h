// What a strategy is given: operators in the order of the computation, and what it may ask about the devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/device_traits.h"
#include "engine/device/operator.h"
#include "engine/graph/activations.h"
#include "engine/moe/expert_placement.h"
#include "engine/plan/costs.h"
#include "engine/plan/partition/row_cut.h"

namespace tandem {

// What strategies that put experts on an NPU are told besides (NPUMoE, engine/moe/expert_placement.h).
struct ExpertRequest {
  ExpertRules rules;
  const RoutingCounts* counts = nullptr;  // borrowed; nullptr: nothing was counted
  ExpertRowBuffers buffers;               // every layer uses the same; without operands: shape only
  int64_t rows = 0;                       // that they have
  Operand attention_output;               // f32 [tokens, H]: what tokens are dropped by (N7)
};

struct PlanRequest {
  std::span<const Operator> operators;
  std::span<const DeviceTraits> devices;   // the plan's devices
  RowShares shares;                        // for the strategies that cut rows
  bool strict = false;                     // an operator that has to fall back is an Error
  PlanCosts costs{};                       // for the strategies that weigh operators against each other
  const ExpertRequest* experts = nullptr;  // for those that put experts on the NPU; nullptr: the model has none
};

// The devices that matmuls are cut between, as indices: every GPU in order (the host where there is none), then every
// NPU. The first one also runs what is not a matmul.
std::vector<int> row_cutters(std::span<const DeviceTraits> devices);

// H9 for every matmul that all of row_cutters() run, by what request.costs says each takes beside the others
// (best_row_cut).
RowShares best_row_shares(const PlanRequest& request);

}  // namespace tandem
