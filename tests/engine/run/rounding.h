// The difference from golden logits that rounding can cause, from the rounded values, their number and depth.
//
// Rounding to p bits behind the leading one changes a value m 2^e, 1 <= m < 2, by at most 2^(e-p-1), evenly spread. The
// root of the mean square (rms) is 2^-(p+1) / sqrt(3) / m of the value. Over values of all sizes the mean of 1 / m^2 is
// 3 / (8 ln 2), so the rms is 0.425 * 2^-(p+1) of the value. These errors are independent. A matrix product of inputs
// that are off by a share e of themselves is a sum of independent errors. It is off by e of its own rms. So is the
// product of weights that are off by e. Partial sums of K terms grow like the root of their number. So the K roundings
// of a chain of multiply-adds add up to sqrt(K / 2) of one. The error that a layer adds to the residual stream is at
// most its share of the stream at that point. The variances of successive stages add up, and the last product passes
// them to the logits. The derivation leaves out the effect of the softmax on scores, and the different sizes of stages:
// kSlack covers both.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "engine/model/config.h"

namespace tandem::testing {

// The values that are rounded to f16 on the way, beside the f32 sums.
struct Rounded {
  bool activations = false;  // the inputs of matmuls
  bool weights = false;      // f32 weights on the NPU
  bool keys_and_values = false;
};

// The share of a logit's rms that rounding can change.
inline double rounding_share(const ModelConfig& config, const Rounded& rounded) {
  constexpr double kRms = 0.425, kHalf = kRms * 0x1p-11, kSingle = kRms * 0x1p-24;
  const auto layers = static_cast<double>(config.layers);
  const double stages = 4 * layers + 1;  // queries, keys and values; output; gate and up; down; and the logits
  const auto longest = static_cast<double>(std::max({config.hidden, config.feed_forward, config.q_width()}));
  double variance = stages * kSingle * kSingle * longest / 2;
  if (rounded.activations) variance += stages * kHalf * kHalf;
  if (rounded.weights) variance += stages * kHalf * kHalf;
  if (rounded.keys_and_values) variance += 2 * layers * kHalf * kHalf;
  return std::sqrt(variance);
}

struct LogitBounds {
  double largest = 0, rms = 0;  // of the differences
};

// kLargest: the largest of some 100,000 normally distributed errors is 4.5 times their rms. The errors of one token
// share its attention's error, and tokens are not equally far off.
inline LogitBounds logit_bounds(const ModelConfig& config, const Rounded& rounded, std::span<const float> expected) {
  constexpr double kSlack = 2, kLargest = 8;
  double squares = 0;
  for (const float value : expected) squares += static_cast<double>(value) * value;
  const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
  // For latent attention the golden logits come from an f32 pass of the form that makes keys and values of all heads. A
  // pass in double precision differs from them by 1e-5 (rms) and 5e-5.
  const double golden = config.latent ? 1.2e-5 : 0;
  const double allowed = kSlack * rounding_share(config, rounded) * rms + golden;
  return {kLargest * allowed, allowed};
}

}  // namespace tandem::testing
