// What strategies that put experts on an NPU are told besides (NPUMoE, engine/moe/expert_placement.h).
#pragma once

#include <cstdint>

#include "engine/moe/expert_placement.h"
#include "engine/tensor/operand.h"

namespace tandem {

// Memory of the experts' rows on the NPU; every layer uses the same. Without operands: shape only.
struct ExpertBuffers {
  int64_t rows = 0;          // that there is room for
  Operand choice_of;         // int32 [rows]
  Operand row_of;            // int32 [tokens, k]
  Operand gathered;          // f32 [rows, H]
  Operand gate_up;           // f32 [rows, 2 I]
  Operand activated;         // f32 [rows, I]
  Operand found;             // f32 [rows, H]
  Operand attention_output;  // f32 [tokens, H]: what tokens are dropped by (N7)
};

struct ExpertRequest {
  ExpertRules rules;
  const RoutingCounts* counts = nullptr;  // borrowed; nullptr: nothing was counted
  ExpertBuffers buffers;
};

}  // namespace tandem
