// The input of a strategy: operators in the order of the computation, and all that it may ask about the devices.
//
// Contract: a PlanRequest borrows everything that it has as a span or a pointer. Functions are pure.
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
#include "engine/tensor/expert_source.h"

namespace tandem {

// Further input for strategies that put experts on an NPU (NPUMoE, engine/moe/expert_placement.h).
struct ExpertRequest {
  ExpertRules rules;
  const RoutingCounts* counts = nullptr;  // borrowed; nullptr: nothing was counted
  ExpertRowBuffers buffers;               // every layer uses the same; without operands: shape only
  int64_t rows = 0;                       // rows of these buffers
  Operand attention_output;               // f32 [tokens, H]: tokens with short vectors are dropped first (N7)
};

// Further input for strategies that divide experts between lanes (engine/plan/lane_steps.h).
struct LanesRequest {
  std::span<const MovingExperts> moving;  // of each layer of the model; those without lanes stay where they are
  LaneBuffers buffers;
  bool uses_link = true;  // false: plans that may choose have no copies (Strategy::chooses_link)
  // Y3: of each layer of the model, with guesses; empty: the link copies nothing ahead (Strategy::prefetches).
  std::span<const LayerRouting> guessed;
  int64_t guessed_layers = 0;  // so many of their guesses are used
};

// Further input for strategies that put experts on near-memory units (GPU-NDP).
struct UnitRequest {
  UnitBuffers buffers;               // every layer uses the same; without operands: shape only
  ExpertDivider* divider = nullptr;  // borrowed
  UnitSplit split = UnitSplit::outer;
};

struct PlanRequest {
  std::span<const Operator> operators;
  std::span<const DeviceTraits> devices;   // the plan's devices
  RowShares shares;                        // for the strategies that cut rows
  bool strict = false;                     // an operator that has to fall back is an Error
  PlanCosts costs{};                       // for the strategies that weigh operators against each other
  const ExpertRequest* experts = nullptr;  // for strategies with experts on the NPU; nullptr: no buffers for them
  const LanesRequest* lanes = nullptr;     // for strategies with lanes of experts; nullptr: experts are not copied
  const UnitRequest* units = nullptr;      // for strategies with experts on units; nullptr: no buffers for them
};

// Indices of the devices between which matmuls are cut: every GPU in order, then every NPU. The host takes the place of
// a missing GPU. The first device also runs the operators other than matmuls.
std::vector<int> row_cutters(std::span<const DeviceTraits> devices);

// H9: the shares of the matmul's rows with which these devices end together, and their time. The times are
// request.costs while the other devices work too. A device that does not run the matmul gets nothing. No shares and
// infinite seconds: no device runs it.
RowCut cut_between(const PlanRequest& request, std::span<const int> devices, const Operator& matmul);

// The shares of cut_between() for every matmul that all of row_cutters() support.
RowShares best_row_shares(const PlanRequest& request);

}  // namespace tandem
