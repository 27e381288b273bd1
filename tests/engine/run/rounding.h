// How far logits may be from golden ones because of rounding: derived from what is rounded, how often, and how deep.
//
// Rounding to p bits behind the leading one changes a value m 2^e, 1 <= m < 2, by at most 2^(e-p-1), evenly spread: in
// the root of the mean square (rms) by 2^-(p+1) / sqrt(3) / m of it. Over values of all sizes the mean of 1 / m^2 is
// 3 / (8 ln 2), so it is 0.425 * 2^-(p+1) of the value. These errors are independent. A matrix product of inputs that
// are off by a share e of themselves is a sum of independent errors, off by e of its own rms; so is the product of
// weights that are off by e. Partial sums of K terms grow like the root of their number, so the K roundings of a chain
// of multiply-adds add up to sqrt(K / 2) of one. What a layer adds to the residual stream is at most off by what the
// stream then is: variances of stages that follow each other add up, and the last product hands them to the logits.
// Left out is what the softmax does with a score, and that stages are not equally large: kSlack.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "engine/model/config.h"

namespace tandem::testing {

// What is rounded to f16 on the way, beside the f32 sums.
struct Rounded {
  bool activations = false;  // what matmuls read
  bool weights = false;      // f32 weights on the NPU
  bool keys_and_values = false;
};

// Of a logit's rms.
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
  double largest = 0, rms = 0;  // of differences
};

// kLargest: the most of some 100,000 normally spread errors is 4.5 times their rms. Those of one token share what its
// attention got wrong, and tokens are not equally far off.
inline LogitBounds logit_bounds(const ModelConfig& config, const Rounded& rounded, std::span<const float> expected) {
  constexpr double kSlack = 2, kLargest = 8;
  double squares = 0;
  for (const float value : expected) squares += static_cast<double>(value) * value;
  const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
  // Golden logits of latent attention are an f32 pass of the form that makes keys and values of all heads; a pass in
  // double precision is 1e-5 (rms) and 5e-5 away from them.
  const double golden = config.latent ? 1.2e-5 : 0;
  const double allowed = kSlack * rounding_share(config, rounded) * rms + golden;
  return {kLargest * allowed, allowed};
}

}  // namespace tandem::testing
