// What strategies that put experts on an NPU are told besides (NPUMoE, engine/moe/expert_placement.h).
#pragma once

#include <cstdint>

#include "engine/graph/activations.h"
#include "engine/moe/expert_placement.h"

namespace tandem {

struct ExpertRequest {
  ExpertRules rules;
  const RoutingCounts* counts = nullptr;  // borrowed; nullptr: nothing was counted
  ExpertRowBuffers buffers;               // every layer uses the same; without operands: shape only
  int64_t rows = 0;                       // that they have
  Operand attention_output;               // f32 [tokens, H]: what tokens are dropped by (N7)
};

}  // namespace tandem
