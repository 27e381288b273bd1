// How near a router came to another decision. Where it is nearer than rounding reaches, two ways of computing a model
// may send a token to different experts, and its logits then differ by more than rounding: that is to be told.
//
// Contract: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "engine/tensor/routing.h"

namespace tandem {

// Of one token's scores [E]: the distance from the least of the k chosen to the best that is not (infinite where all
// are chosen). A sparse mixer also decides, for each that is left, whether it is near the best one: there the least
// distance from that bound counts too, as a score.
double router_margin(std::span<const float> scores, int64_t k, Gating gating);

// A margin that f16 operands may turn: a product is off by 2^-11 of itself at most, a score of about 1 is a sum of many
// such errors of either sign. The tests of a trained model compare logits up to the first choice that is nearer.
inline constexpr double kNearTie = 0.002;

// What became of many decisions.
struct RouterMargins {
  int64_t decisions = 0, near_ties = 0;
  double smallest = 0;  // of all, where there was any
  void add(double margin);
};

// Of each token of a layer; scores: [tokens, stride], the first E of each row.
void add_margins(RouterMargins& margins, std::span<const float> scores, int64_t stride, int64_t E, int64_t k,
                 Gating gating);

}  // namespace tandem
