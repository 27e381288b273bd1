// The operator Glu: a gated linear unit, or its activation alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/device/operators/view.h"
#include "engine/tensor/activation.h"

namespace tandem {

// A gated linear unit: y = activation(gate) * up (Shazeer 2020, arXiv:2002.05202: SwiGLU, GEGLU). Not gated: y =
// activation(gate), and there is no `up`. The clamped one is that of gpt-oss (OpenAI 2025, arXiv:2508.10925): g / (1 +
// exp(-1.702 g)) * (u + 1), where g is the gate, but at most 7, and u is up within [-7, 7]. NaN stays NaN.
inline constexpr double kUnitLimit = 7, kUnitSlope = 1.702;

struct Glu {
  int64_t S = 0, I = 0;
  Operand gate, up;  // [S, I], strides; `up` only if gated
  int64_t gate_stride = 0, up_stride = 0;
  Operand y;  // [S, I], stride y_stride
  int64_t y_stride = 0;
  bool round_f16 = false;
  Activation activation = Activation::silu;
  int64_t rows = 1;  // rows of each token, one behind the other: one for each of its experts
  bool gated = true;

  bool operator==(const Glu&) const = default;
  const char* kind() const { return gated ? gated_unit_of(activation) : name_of(activation); }
  Features features() const {
    Features all{Feature::activation};
    switch (activation) {
      case Activation::silu:
        break;
      case Activation::gelu_tanh:
        all.add(Feature::gelu);
        break;
      case Activation::squared_relu:
        all.add(Feature::squared_relu);
        break;
      case Activation::clamped_silu:
        all.add(Feature::clamped_unit);
    }
    if (!gated) all.add(Feature::ungated);
    return all;
  }
  // activation(gate), in double precision: gate / (1 + exp(-t)), where t is the gate itself for SiLU. For GELU that is
  // gate / 2 * (1 + tanh(t / 2)), a form that would lose every digit when tanh is -1.
  double activated(double gate) const {
    double t = 0;
    switch (activation) {
      case Activation::silu:
        t = gate;
        break;
      case Activation::gelu_tanh:
        t = 2 * std::sqrt(2 / std::numbers::pi) * (gate + 0.044715 * gate * gate * gate);
        break;
      case Activation::squared_relu:
        return gate * std::max(gate, 0.0);
      case Activation::clamped_silu:
        t = kUnitSlope * gate;
    }
    return gate / (1 + std::exp(-t));
  }
  // The unit's result, in double precision. up: only if gated.
  double value(double gate, double up) const {
    const bool clamps = activation == Activation::clamped_silu;
    const double result = activated(clamps && gate > kUnitLimit ? kUnitLimit : gate);
    if (!gated) return result;
    if (!clamps) return result * up;
    const double limited = up > kUnitLimit ? kUnitLimit : up < -kUnitLimit ? -kUnitLimit : up;
    return result * (limited + 1);
  }
  double flops() const { return (gated ? 5.0 : 4.0) * S * rows * I; }
  template <typename Self>
  static auto views(Self& op) {
    const auto all_rows = [&op](auto& place, Use use, int64_t stride) {
      auto view = rows_of(place, use, op.S * op.rows, op.I, stride);
      view.token_bytes *= static_cast<size_t>(op.rows);
      return view;
    };
    return std::array{all_rows(op.gate, Use::read, op.gate_stride),
                      all_rows(op.up, Use::read, op.up_stride).only_if(op.gated),
                      all_rows(op.y, Use::write, op.y_stride)};
  }
};

}  // namespace tandem
