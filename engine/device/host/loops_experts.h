// Loops for a mixture of experts: the routing of tokens to experts, and the sum of the experts' results. Every sum is
// one chain in ascending order of the experts, so nothing depends on the width of a vector.
#pragma once

#include "engine/device/host/loops_lanes.h"
#include "engine/device/host/loops_rows.h"

namespace tandem::host {
namespace {

LANES_INLINE float exp_of(float x) {
  float lanes[16];
  store(lanes, exp(all(x)));
  return lanes[0];
}
LANES_INLINE float sigmoid(float x) { return 1.0f / (1.0f + exp_of(-x)); }
LANES_INLINE float key_of(float score) { return score == score ? score : -__builtin_inff(); }  // NaN is the lowest

// A place in the order of falling scores; of equal scores, the lowest index comes first. is_behind(): expert e
// comes later.
struct Picked {
  float key;
  int64_t at;
};
LANES_INLINE bool is_behind(float key, int64_t e, Picked last) {
  return key < last.key || (key == last.key && e > last.at);
}

// The first expert behind `last` in the order of scores.
LANES_INLINE Picked next_pick(const RouteArgs& args, Picked last) {
  Picked next{0, -1};
  for (int64_t e = 0; e < args.E; ++e) {
    const float key = key_of(args.x[e]);
    if (is_behind(key, e, last) && (next.at < 0 || key > next.key)) next = {key, e};
  }
  return next;
}

LANES_INLINE float sum_of_exp(const RouteArgs& args, float top) {
  float sum = 0;
  for (int64_t e = 0; e < args.E; ++e) sum += exp_of(key_of(args.x[e]) - top);
  return sum;
}

// The sum over the experts behind `last` that are near `pick`, the first one of them.
LANES_INLINE float sparse_sum(const RouteArgs& args, Picked last, Picked pick) {
  float sum = 0;
  for (int64_t e = 0; e < args.E; ++e) {
    const float key = key_of(args.x[e]), size = key < 0 ? -key : key;
    const float distance = (pick.key - key) / (pick.key > size ? pick.key : size);
    if (is_behind(key, e, last) && !(distance > args.near)) sum += exp_of(key - pick.key);
  }
  return sum;
}

// Picks k experts one after the other in falling order of scores and inserts each into the results, which ascend by
// expert. The weights are scaled at the end.
void route(const RouteArgs& args) {
  Picked last{__builtin_inff(), -1};
  float top = 0, sum = 0;
  for (int64_t round = 0; round < args.k; ++round) {
    const Picked pick = next_pick(args, last);
    if (round == 0 && args.gating == Gating::softmax) {
      top = pick.key;
      sum = sum_of_exp(args, top);
    }
    const float weight = args.gating == Gating::softmax   ? exp_of(pick.key - top) / sum
                         : args.gating == Gating::sigmoid ? sigmoid(pick.key)
                                                          : 1.0f / sparse_sum(args, last, pick);
    int64_t at = round;  // results ascend by expert
    for (; at > 0 && args.ids[at - 1] > pick.at; --at) {
      args.ids[at] = args.ids[at - 1];
      args.weights[at] = args.weights[at - 1];
    }
    args.ids[at] = static_cast<int32_t>(pick.at);
    args.weights[at] = weight;
    last = pick;
  }
  float total = 0;
  for (int64_t i = 0; i < args.k; ++i) total += args.weights[i];
  bool is_lost = false;
  for (int64_t e = 0; e < args.E; ++e) is_lost |= args.x[e] != args.x[e];
  for (int64_t i = 0; i < args.k; ++i) {
    const float weight = (args.normalised ? args.weights[i] / total : args.weights[i]) * args.scale;
    args.weights[i] = is_lost ? __builtin_nanf("") : weight;
  }
}

// The result for choice c; nullptr: it was dropped.
LANES_INLINE const float* found_by(const ExpertSumArgs& args, int64_t c) {
  const int64_t row = args.row_of ? args.row_of[c] : kElsewhere;
  if (row == kDropped) return nullptr;
  return row == kElsewhere ? args.x + c * args.width : args.slots + row * args.width;
}

void expert_sum(const ExpertSumArgs& given) {
  const ExpertSumArgs args = given;
  const float share = args.gate ? sigmoid(*args.gate) : 1.0f;  // 1 * shared is shared
  for (int64_t i = 0; i < args.width; i += 16) {
    const int64_t left = args.width - i;
    Lanes sum = all(0.0f);
    for (int64_t c = 0; c < args.k; ++c)
      if (const float* found = found_by(args, c)) sum = fma(all(args.weights[c]), load_upto(found + i, left, 0), sum);
    if (args.shared) sum = fma(all(share), load_upto(args.shared + i, left, 0), sum);
    store_upto(args.y + i, sum, left);
  }
}

}  // namespace
}  // namespace tandem::host
