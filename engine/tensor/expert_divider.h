// Who computes which expert of a layer: what operators have to know about the rule that divides them.
//
// The sides are a GPU (side 0) and near-memory units. A rule sees how many tokens of a pass chose each expert
// (engine/moe/near_memory_sides.h). It decides while the pass runs, on the host's thread, so no plan
// depends on choices.
#pragma once

#include <cstdint>
#include <span>

namespace tandem {

struct DivideRequest {
  int64_t layer = 0, tokens = 0, k = 0;  // k: choices of a token
  std::span<const int64_t> loads;        // [E]: tokens that chose each expert; 0: nobody
};

// Contract: divide() writes the side of every expert that somebody chose. The layers of a pass are asked for in order.
// Threads: one at a time.
class ExpertDivider {
 public:
  virtual ~ExpertDivider() = default;
  virtual void divide(const DivideRequest& request, std::span<int32_t> sides) = 0;  // sides: [E]
};

}  // namespace tandem
