// The operator Route: chooses the experts of each token and their weights.
#pragma once

#include "engine/device/operators/view.h"
#include "engine/tensor/routing.h"

namespace tandem {

inline constexpr int64_t kMostChoices = 64;         // the most experts of a token
inline constexpr int64_t kMostGroups = 32;          // of experts
inline constexpr float kSparseMixerJitter = 0.01f;  // "near" means within 2 * jitter of the best score, relatively

// Chooses for each token the k experts with the largest scores: of equal scores the lowest index, and NaN as the lowest
// score. The ids are in ascending order of index. The weights are gating(score), divided by their sum over the k if
// `normalised`, times `scale`.
//
// With `biased`, an expert is chosen by gating(score) + bias instead of its score, and its weight stays as it is.
// Experts may lie in `groups` of equal size, one behind the other. Then a token chooses among the experts of its
// best `groups_used` groups, of equals the first. A group counts as its best expert, or, if `biased`, as the sum of its
// best two. (DeepSeek-AI 2024, arXiv:2405.04434, section 2.1.2, and arXiv:2412.19437, section 2.1.2.)
//
// A token with a NaN among its scores gets NaN (0x7fc00000) for all weights, so that the
// fault shows.
struct Route {
  int64_t S = 0, E = 0, k = 0;  // k <= min(E, kMostChoices)
  Operand x;                    // [S, E], stride x_stride
  int64_t x_stride = 0;
  Operand ids;      // int32 [S, k]
  Operand weights;  // f32 [S, k]
  Gating gating = Gating::softmax;
  bool normalised = false;
  float scale = 1;
  bool biased = false;  // not for a sparse mixer
  Operand bias = {};    // f32 [E]; read if `biased`
  int64_t groups = 1, groups_used = 1;

  bool by_keys() const { return biased || groups > 1; }  // choices are not by scores alone
  bool operator==(const Route&) const = default;
  const char* kind() const { return "route"; }
  Features features() const {
    Features all{Feature::routing};
    if (gating == Gating::sigmoid) all.add(Feature::sigmoid_routing);
    if (gating == Gating::sparse_mixer) all.add(Feature::sparse_mixer);
    if (biased) all.add(Feature::biased_routing);
    if (groups > 1) all.add(Feature::grouped_routing);
    return all;
  }
  double flops() const { return (4.0 + k) * S * E; }
  template <typename Self>
  static auto views(Self& op) {
    return std::array{rows_of(op.x, Use::read, op.S, op.E, op.x_stride), constants_of(op.bias, op.E).only_if(op.biased),
                      ids_of(op.ids, Use::write, op.S, op.k), rows_of(op.weights, Use::write, op.S, op.k, op.k)};
  }
};

}  // namespace tandem
