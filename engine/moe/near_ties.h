// Measures how close a router came to another choice. Below the effect of rounding, two ways of computing a model may
// send a token to different experts. Their logits then differ by more than rounding. Callers report such cases.
//
// Contract: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/weights.h"
#include "engine/tensor/routing.h"

namespace tandem {

// The margin of one token's scores [E]: the least chosen score less the best one not chosen (infinite if all are
// chosen). A sparse mixer also compares every remaining score with a bound below the best one. For it, the least
// distance from that bound counts as well.
double router_margin(std::span<const float> scores, int64_t k, Gating gating);

// A router whose choices need not be by scores alone (engine/device/operators/route.h).
struct RouterRule {
  int64_t k = 0;
  Gating gating = Gating::softmax;
  std::span<const float> bias{};  // [E]; empty: none
  int64_t groups = 1, groups_used = 1;
};
RouterRule router_rule(const Model& model, int64_t layer);
// The margin of what the rule chooses by: with a bias, of gating(score) + bias; with groups, also between groups.
double router_margin(std::span<const float> scores, const RouterRule& rule);

// A margin that f16 operands may reverse. A product is off by at most 2^-11 of itself, and a score of about 1 is a
// sum of many such errors of either sign. Tests of a trained model compare logits up to the first choice with a
// smaller margin.
inline constexpr double kNearTie = 0.002;

// Statistics of many decisions.
struct RouterMargins {
  int64_t decisions = 0, near_ties = 0;
  double smallest = 0;  // over all decisions, if there are any
  void add(double margin);
};

// Adds the margin of each token of a layer. scores: [tokens, stride]; the first E of each row count.
void add_margins(RouterMargins& margins, std::span<const float> scores, int64_t stride, int64_t E,
                 const RouterRule& rule);

}  // namespace tandem
