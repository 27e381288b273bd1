#include "engine/model/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sync/long_wait.h"

namespace tandem {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

RopeConfig rotation(int64_t dim, float base) {
  RopeConfig config;
  config.dim = dim;
  config.base = base;
  return config;
}

TEST(Rope, frequencies_fall_by_the_base) {
  // 10000^(-2i/8) = 10^-i.
  EXPECT_THAT(rope_frequencies(rotation(8, 10000.0f)),
              ElementsAre(1.0, DoubleNear(0.1, 1e-15), DoubleNear(0.01, 1e-16), DoubleNear(0.001, 1e-17)));
  EXPECT_EQ(rope_magnitude(rotation(8, 10000.0f)), 1.0);
}

TEST(Rope, linear_scaling_divides_every_frequency) {
  RopeConfig config = rotation(4, 10000.0f);
  config.scaling = RopeScaling::linear;
  config.scale_factor = 4.0f;
  EXPECT_THAT(rope_frequencies(config), ElementsAre(0.25, DoubleNear(0.0025, 1e-17)));
  EXPECT_EQ(rope_magnitude(config), 1.0);
}

TEST(Rope, frequency_factors_divide_their_own_pair) {
  RopeConfig config = rotation(4, 10000.0f);
  config.scaling = RopeScaling::frequency_factors;
  config.frequency_factors = {1.0f, 8.0f};
  EXPECT_THAT(rope_frequencies(config), ElementsAre(1.0, DoubleNear(0.00125, 1e-17)));
}

// The rotation has dim 16, base 10000, context 4096, fast 32 and slow 1. This is the pair with b turns:
//   16 ln(4096 / (2 pi b)) / (2 ln 10000)
//   b = 32: 8 * ln(20.3718) / 9.21034 = 8 * 3.01415 / 9.21034 = 2.618 -> low 2
//   b = 1:  8 * ln(651.899) / 9.21034 = 8 * 6.47989 / 9.21034 = 5.628 -> high 6
// Pairs 0..2 keep their frequency. Pairs 6 and 7 are divided by 8. Pairs 3, 4 and 5 mix in 1/4, 1/2 and 3/4 of the
// slow one:
//   factor on theta: 1 - m * (1 - 1/8) = 0.78125, 0.5625, 0.34375.
TEST(Rope, yarn_ramps_between_fast_and_slow_pairs) {
  RopeConfig config = rotation(16, 10000.0f);
  config.scaling = RopeScaling::yarn;
  config.scale_factor = 8.0f;
  config.original_context = 4096;
  const double expected[] = {1.0, 1.0, 1.0, 0.78125, 0.5625, 0.34375, 0.125, 0.125};
  const std::vector<double> frequencies = rope_frequencies(config);
  ASSERT_EQ(frequencies.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(frequencies[i] * std::pow(10.0, static_cast<double>(i) / 2.0), expected[i], 1e-12) << i;
  }
  // 0.1 ln 8 + 1
  EXPECT_NEAR(rope_magnitude(config), 1.2079441541679836, 1e-12);
  config.attention_factor = 0.5f;
  EXPECT_NEAR(rope_magnitude(config), 0.6039720770839918, 1e-12);
}

// Factor 8: 0.1 ln 8 = 0.2079441541679836. With a multiplier of 1 nothing is left of the factor, with 0.5 it is
// 1.2079441541679836 / 1.1039720770839918 = 1.094179988101349.
TEST(Rope, yarns_factor_may_be_divided_by_a_part_of_itself) {
  RopeConfig config = rotation(16, 10000.0f);
  config.scaling = RopeScaling::yarn;
  config.scale_factor = 8.0f;
  config.original_context = 4096;
  config.yarn_divisor = 1.0f;
  EXPECT_NEAR(rope_magnitude(config), 1.0, 1e-15);
  config.yarn_divisor = 0.5f;
  EXPECT_NEAR(rope_magnitude(config), 1.094179988101349, 1e-12);
}

// Length 4, scale 0.5: positions 0 to 3 have 1, 4 to 7 have 1 + 0.5 ln 2, 8 to 11 have 1 + 0.5 ln 3.
TEST(Rope, the_temperature_of_queries_grows_at_every_multiple_of_its_length) {
  const TemperatureConfig temperature{0.5f, 4};
  EXPECT_EQ(query_temperature(temperature, 0), 1.0);
  EXPECT_EQ(query_temperature(temperature, 3), 1.0);
  EXPECT_NEAR(query_temperature(temperature, 4), 1.3465735902799727, 1e-15);
  EXPECT_NEAR(query_temperature(temperature, 7), 1.3465735902799727, 1e-15);
  EXPECT_NEAR(query_temperature(temperature, 8), 1.5493061443340548, 1e-15);
  const TemperatureConfig unrotated{temperature.scale, temperature.length, true};
  EXPECT_EQ(query_temperature(unrotated, 2), 1.0);
  EXPECT_NEAR(query_temperature(unrotated, 3), 1.3465735902799727, 1e-15) << "positions count from 1";
  std::vector<float> plain(9 * 2), tempered(9 * 2);
  fill_rope_table(rotation(2, 10000.0f), 9, plain.data());
  fill_rope_table(rotation(2, 10000.0f), 9, tempered.data(), &temperature);
  EXPECT_EQ(tempered[6], plain[6]) << "position 3";
  EXPECT_FLOAT_EQ(tempered[8], 1.3465735902799727f * plain[8]) << "position 4";
  EXPECT_FLOAT_EQ(tempered[17], 1.5493061443340548f * plain[17]) << "position 8";
}

// The context is so short that no pair makes beta_fast turns, and low is clamped to 0: ln(64 / (2 pi 32)) < 0. For b =
// 1 it is 8 * ln(10.1859) / 9.21034 = 2.016, so high is 3. Pairs 1 and 2 mix 1/3 and 2/3 of the slow one.
TEST(Rope, yarn_clamps_the_ramp_to_the_pairs) {
  RopeConfig config = rotation(16, 10000.0f);
  config.scaling = RopeScaling::yarn;
  config.scale_factor = 2.0f;
  config.original_context = 64;
  const std::vector<double> frequencies = rope_frequencies(config);
  EXPECT_NEAR(frequencies[0], 1.0, 1e-12);
  EXPECT_NEAR(frequencies[1] * std::sqrt(10.0), 1.0 - 0.5 / 3.0, 1e-12);
  EXPECT_NEAR(frequencies[2] * 10.0, 1.0 - 1.0 / 3.0, 1e-12);
  EXPECT_NEAR(frequencies[3] * std::pow(10.0, 1.5), 0.5, 1e-12);
}

TEST(Rope, yarn_with_factor_one_changes_nothing) {
  RopeConfig config = rotation(8, 10000.0f);
  const std::vector<double> plain = rope_frequencies(config);
  config.scaling = RopeScaling::yarn;
  config.original_context = 4096;
  const std::vector<double> scaled = rope_frequencies(config);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(scaled[i], plain[i], 1e-15);
  EXPECT_EQ(rope_magnitude(config), 1.0);
}

TEST(Rope, the_table_holds_cosine_and_sine_of_every_position) {
  RopeConfig config = rotation(4, 10000.0f);
  config.attention_factor = 2.0f;
  std::vector<float> table(3 * 2 * 2 + 1, -7.0f);
  fill_rope_table(config, 3, table.data());
  EXPECT_EQ(table[0], 2.0f);
  EXPECT_EQ(table[1], 0.0f);
  EXPECT_FLOAT_EQ(table[4], 2.0f * 0.5403023f);    // cos 1
  EXPECT_FLOAT_EQ(table[5], 2.0f * 0.84147098f);   // sin 1
  EXPECT_FLOAT_EQ(table[6], 2.0f * 0.99995f);      // cos 0.01
  EXPECT_FLOAT_EQ(table[8], 2.0f * -0.41614684f);  // cos 2
  EXPECT_EQ(table.back(), -7.0f);
}

// A context of 100 million tokens took a minute, and no signal ended it.
TEST(Rope, table_of_many_positions_is_ended_by_an_interrupt) {
  constexpr int64_t kPositions = 100'000;
  std::vector<float> table(kPositions * 8);
  static int looks = 0;
  stop_waits_when([] { return ++looks > 1; });
  EXPECT_THROW(fill_rope_table(rotation(8, 10000.0f), kPositions, table.data()), Interrupted);
  stop_waits_when(nullptr);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(table.back(), 0) << "the rest is not computed";
}

}  // namespace
}  // namespace tandem
