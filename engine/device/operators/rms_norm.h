// The operator RmsNorm: RMS norm or LayerNorm, with an optional residual addition.
#pragma once

#include "engine/device/operators/view.h"

namespace tandem {

// For each token s and group g, over the `width` values v at x[s*x_stride + g*width ...]:
//   if add: v = fma(add_scale, add[s*add_stride + g*width ...], v), written back to x (the residual connection)
//   if centred: v = v - mean(v), which is not written to x
//   y[s*y_stride + g*width + i] = v[i] / sqrt(mean(v^2) + eps) * (weight[i] + weight_offset), + bias[i] if biased
// If the mean of the squares overflows f32, all of y becomes NaN, so that the fault shows.
// y may be x. groups > 1: one norm for each attention head. The groups share weight and bias, or with own_weights each
// group has its own. A centred norm is LayerNorm (Ba, Kiros and Hinton 2016, arXiv:1607.06450).
struct RmsNorm {
  int64_t S = 0, groups = 1, width = 0;
  Operand x, y;
  int64_t x_stride = 0, y_stride = 0;
  Operand add;  // optional
  int64_t add_stride = 0;
  Operand weight;           // f32 [width], or [groups, width] with own_weights
  float weight_offset = 0;  // 0, or 1 for models that store weight - 1
  float eps = 1e-5f;
  bool round_f16 = false;
  float add_scale = 1;
  bool centred = false;
  bool biased = false;
  Operand bias{};  // if biased: f32, as many as weights
  bool own_weights = false;

  bool operator==(const RmsNorm&) const = default;
  const char* kind() const { return "rms_norm"; }
  Features features() const {
    Features all{Feature::norm};
    if (add) all.add(Feature::residual);
    if (add_scale != 1) all.add(Feature::scaled_residual);
    if (centred) all.add(Feature::centred_norm);
    if (biased) all.add(Feature::norm_bias);
    if (own_weights) all.add(Feature::group_weights);
    return all;
  }
  double flops() const { return (4.0 + (add ? 1 : 0) + (centred ? 2 : 0) + (biased ? 1 : 0)) * S * groups * width; }
  template <typename Self>
  static auto views(Self& op) {
    const bool adds = static_cast<bool>(op.add);
    const int64_t width = op.groups * op.width, weights = op.own_weights ? width : op.width;
    return std::array{rows_of(op.x, adds ? Use::update : Use::read, op.S, width, op.x_stride),
                      constants_of(op.weight, weights), constants_of(op.bias, weights).only_if(op.biased),
                      rows_of(op.add, Use::read, op.S, width, op.add_stride).only_if(adds),
                      rows_of(op.y, Use::write, op.S, width, op.y_stride)};
  }
};

}  // namespace tandem
