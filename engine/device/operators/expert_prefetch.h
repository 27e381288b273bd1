// The operator ExpertPrefetch: copies experts that a later layer is guessed to choose into slots of that layer (Y3).
//
// The link runs it when it has no copies to do that were asked for. The lanes say which expert comes next. They say
// between two pieces of a copy whether that layer has been decided meanwhile: then the rest is not copied.
#pragma once

#include <string>

#include "engine/device/operators/view.h"
#include "engine/tensor/expert_lanes.h"

namespace tandem {

// The longest copy that cannot be stopped.
inline constexpr size_t kPrefetchPiece = size_t{256} << 10;

struct ExpertPrefetch {
  int64_t S = 0, E = 0, k = 0;
  int64_t layer = 0, next = 0;  // the layer that guesses, and the layer that is guessed
  int64_t slots = 0, scores_stride = 0;
  size_t expert_bytes = 0;
  std::string schedule;  // as in LaneRequest
  Operand scores;        // f32 [S, E], `scores_stride` from row to row
  Operand decided;       // int32 [1]: a word that the decision of `layer` writes
  Operand from, to;      // all experts of `next`, and its slots, side by side
  ExpertLanes* lanes = nullptr;

  bool operator==(const ExpertPrefetch&) const = default;
  const char* kind() const { return "expert_prefetch"; }
  Features features() const { return {Feature::copied_experts}; }
  double flops() const { return 0; }
  template <typename Self>
  static auto views(Self& op) {
    const auto expected = static_cast<double>(op.expert_bytes);  // one expert
    return std::array{rows_of(op.scores, Use::read, op.S, op.E, op.scores_stride),
                      whole(op.decided, Use::read, Role::ids, sizeof(int32_t)),
                      whole(op.from, Use::read, Role::weights, static_cast<size_t>(op.E) * op.expert_bytes)
                          .moving(expected / sizeof(float), expected),
                      whole(op.to, Use::update, Role::weights, static_cast<size_t>(op.slots) * op.expert_bytes)
                          .moving(expected / sizeof(float), expected)};
  }
};

}  // namespace tandem
