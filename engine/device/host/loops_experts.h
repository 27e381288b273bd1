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

// The first of `count` keys behind `last` in the order of keys.
LANES_INLINE Picked next_pick(const float* keys, int64_t count, Picked last) {
  Picked next{0, -1};
  for (int64_t e = 0; e < count; ++e) {
    const float key = key_of(keys[e]);
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

LANES_INLINE float largest_of(const float* keys, int64_t count) {
  return next_pick(keys, count, {__builtin_inff(), -1}).key;
}

// A group's number: its best key, or the sum of its best two if there are biases.
LANES_INLINE float group_key(const RouteArgs& args, int64_t group) {
  const int64_t each = args.E / args.groups;
  const Picked best = next_pick(args.keys + group * each, each, {__builtin_inff(), -1});
  return args.bias ? best.key + next_pick(args.keys + group * each, each, best).key : best.key;
}

// Writes what experts are chosen by. Experts outside the best groups get the lowest key.
LANES_INLINE void write_keys(const RouteArgs& args, float top, float sum) {
  for (int64_t e = 0; e < args.E; ++e) {
    const float score = key_of(args.x[e]);
    args.keys[e] = !args.bias                       ? score
                   : args.gating == Gating::softmax ? exp_of(score - top) / sum + args.bias[e]
                                                    : sigmoid(score) + args.bias[e];
    args.keys[e] = key_of(args.keys[e]);
    if (args.x[e] != args.x[e]) args.keys[e] = -__builtin_inff();
  }
  if (args.groups <= 1) return;
  const int64_t each = args.E / args.groups;
  float of_groups[kMostRouteGroups];
  for (int64_t g = 0; g < args.groups; ++g) of_groups[g] = group_key(args, g);
  Picked last{__builtin_inff(), -1};
  for (int64_t i = 0; i < args.groups_used; ++i) last = next_pick(of_groups, args.groups, last);
  for (int64_t g = 0; g < args.groups; ++g)
    for (int64_t e = g * each; e < (g + 1) * each && is_behind(key_of(of_groups[g]), g, last); ++e)
      args.keys[e] = -__builtin_inff();
}

// Picks k experts one after the other in falling order of keys and inserts each into the results, which ascend by
// expert. The weights are scaled at the end.
void route(const RouteArgs& args) {
  Picked last{__builtin_inff(), -1};
  float top = 0, sum = 0;
  if (args.gating == Gating::softmax) {
    top = largest_of(args.x, args.E);
    sum = sum_of_exp(args, top);
  }
  if (args.keys) write_keys(args, top, sum);
  const float* keys = args.keys ? args.keys : args.x;
  for (int64_t round = 0; round < args.k; ++round) {
    const Picked pick = next_pick(keys, args.E, last);
    const float score = key_of(args.x[pick.at]);
    const float weight = args.gating == Gating::softmax   ? exp_of(score - top) / sum
                         : args.gating == Gating::sigmoid ? sigmoid(score)
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
