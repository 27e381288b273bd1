#include "engine/model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "sync/long_wait.h"

namespace tandem {
namespace {

constexpr int64_t kPositionsOfLook = 1 << 15;  // between two looks for an interrupt: some hundredths of a second

// YaRN (Peng et al., 2023), "NTK-by-parts": pair i turns original_context * theta_i / (2 pi) times over the trained
// context. Pairs with more than beta_fast turns keep their frequency. Pairs with fewer than beta_slow turns are slowed
// by the factor, and a ramp joins the two. Solving turns(i) = beta for i gives the ramp's ends. The published code
// rounds them outwards to whole pairs; that of gpt-oss does not.
double pair_with_turns(const RopeConfig& rope, double turns) {
  const double context = static_cast<double>(rope.original_context);
  return static_cast<double>(rope.dim) * std::log(context / (turns * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(static_cast<double>(rope.base)));
}

struct Ramp {
  double low, high;
  // 0 up to low, 1 from high on, linear between them.
  double at(double i) const { return std::clamp((i - low) / std::max(high - low, 0.001), 0.0, 1.0); }
};

// The published code limits the upper end by dim - 1 and not by the last pair, and so does this function.
Ramp yarn_ramp(const RopeConfig& rope) {
  const double last = static_cast<double>(rope.dim - 1);
  const double low = pair_with_turns(rope, rope.yarn_beta_fast), high = pair_with_turns(rope, rope.yarn_beta_slow);
  if (!rope.yarn_whole_pairs) return {std::max(0.0, low), std::min(last, high)};
  return {std::max(0.0, std::floor(low)), std::min(last, std::ceil(high))};
}

}  // namespace

// theta_i = base^(-2 i / dim), then divided by frequency factors, by the linear factor, or partly by YaRN's.
std::vector<double> rope_frequencies(const RopeConfig& rope) {
  const bool yarn = rope.scaling == RopeScaling::yarn;
  const bool linear = rope.scaling == RopeScaling::linear;
  const double factor = static_cast<double>(rope.scale_factor);
  const Ramp ramp = yarn ? yarn_ramp(rope) : Ramp{0.0, 1.0};
  std::vector<double> frequencies(static_cast<size_t>(rope.dim / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rope.dim);
    double theta = std::pow(static_cast<double>(rope.base), exponent);
    if (!rope.frequency_factors.empty()) theta /= static_cast<double>(rope.frequency_factors[i]);
    if (linear) theta /= factor;
    if (yarn) {
      // Mixes the interpolated frequency and the trained one by the ramp.
      const double slowed = ramp.at(static_cast<double>(i));
      theta = theta / factor * slowed + theta * (1.0 - slowed);
    }
    frequencies[i] = theta;
  }
  return frequencies;
}

double rope_magnitude(const RopeConfig& rope) {
  const double given = static_cast<double>(rope.attention_factor);
  const double factor = static_cast<double>(rope.scale_factor);
  if (rope.scaling != RopeScaling::yarn || !rope.yarn_magnitude || factor <= 1.0) return given;
  const double divisor = static_cast<double>(rope.yarn_divisor);
  return given * (0.1 * std::log(factor) + 1.0) / (0.1 * divisor * std::log(factor) + 1.0);
}

double query_temperature(const TemperatureConfig& temperature, int64_t position) {
  const int64_t steps = (position + (temperature.unrotated ? 1 : 0)) / temperature.length;
  return 1.0 + static_cast<double>(temperature.scale) * std::log(1.0 + static_cast<double>(steps));
}

// The number of positions chooses between short and long factors, once for the whole table. Angles are computed in
// double precision: in f32 a late position times a frequency would have few exact digits. A table of millions of
// positions takes seconds, so it says so and looks for an interrupt.
void fill_rope_table(const RopeConfig& rope, int64_t positions, float* table, const TemperatureConfig* temperature) {
  RopeConfig chosen = rope;
  if (positions > rope.original_context && !rope.long_factors.empty()) chosen.frequency_factors = rope.long_factors;
  const std::vector<double> frequencies = rope_frequencies(chosen);
  const double magnitude = rope_magnitude(rope);
  LongWait wait("the rotations of " + std::to_string(positions) + " positions (--ctx-size)");
  for (int64_t position = 0; position < positions; ++position) {
    if (position > 0 && position % kPositionsOfLook == 0) wait.look();
    const double scale = magnitude * (temperature == nullptr ? 1.0 : query_temperature(*temperature, position));
    for (double theta : frequencies) {
      const double angle = static_cast<double>(position) * theta;
      *table++ = static_cast<float>(std::cos(angle) * scale);
      *table++ = static_cast<float>(std::sin(angle) * scale);
    }
  }
}

void fill_temperature_table(const TemperatureConfig& temperature, int64_t positions, int64_t head_dim, float* table) {
  for (int64_t position = 0; position < positions; ++position) {
    const double factor = query_temperature(temperature, position);
    for (int64_t pair = 0; pair < head_dim / 2; ++pair) {
      *table++ = static_cast<float>(factor);
      *table++ = 0;
    }
  }
}

}  // namespace tandem
