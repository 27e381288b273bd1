#include "packed/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace tandem {
namespace {

// The definition of a half, in double precision.
double half_value(uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const double sign = half & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
  return exponent == 0 ? sign * std::ldexp(mantissa, -24) : sign * std::ldexp(1024 + mantissa, exponent - 25);
}

// The nearest half by its definition: the closer one of two neighbours, or the even one of equally close ones.
uint16_t nearest_half(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= 65520) return sign | 0x7c00;
  uint16_t low = 0, high = 0x7bff;  // largest half <= magnitude
  while (low < high) {
    const auto middle = static_cast<uint16_t>((low + high + 1) / 2);
    half_value(middle) <= magnitude ? low = middle : high = static_cast<uint16_t>(middle - 1);
  }
  if (low == 0x7bff) return sign | low;
  const double below = magnitude - half_value(low), above = half_value(low + 1) - magnitude;
  return sign | static_cast<uint16_t>(below < above || (below == above && low % 2 == 0) ? low : low + 1);
}

TEST(Half, every_bit_pattern_becomes_the_float_it_names) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    const double expected = half_value(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    }
  }
}

TEST(Half, every_bit_pattern_survives_the_way_to_float_and_back) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const bool nan = (bits & 0x7fff) > 0x7c00;
    EXPECT_EQ(float_to_half(half_to_float(half)), nan ? half | 0x0200 : half) << bits;
  }
}

TEST(Half, floats_between_two_halves_round_to_nearest_and_ties_to_even) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto low = half_value(static_cast<uint16_t>(bits));
    const double high = bits == 0x7bff ? 65536 : half_value(static_cast<uint16_t>(bits + 1));
    const auto tie = static_cast<float>((low + high) / 2);
    for (float value : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, INFINITY)})
      for (float sign : {1.0f, -1.0f}) ASSERT_EQ(float_to_half(sign * value), nearest_half(sign * value)) << value;
  }
}

TEST(Half, any_float_rounds_to_the_nearest_half) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_half(value), nearest_half(value)) << value;
  }
}

TEST(Half, infinities_and_nan_stay_what_they_are) {
  EXPECT_EQ(float_to_half(INFINITY), 0x7c00);
  EXPECT_EQ(float_to_half(-INFINITY), 0xfc00);
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(NAN))));
  EXPECT_EQ(float_to_half(std::bit_cast<float>(0x7f800001u)) & 0x7e00, 0x7e00) << "a NaN may not become infinity";
}

// The processor's own conversion does the same. A result that is compared bit for bit must not depend on who converts.
TEST(Half, a_signalling_nan_becomes_quiet_and_keeps_its_other_bits) {
  EXPECT_EQ(std::bit_cast<uint32_t>(half_to_float(0x7c01)), 0x7fc02000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(half_to_float(0xfd00)), 0xffe00000u);
}

TEST(Bf16, every_bit_pattern_survives_the_way_to_float_and_back) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto value = static_cast<uint16_t>(bits);
    EXPECT_EQ(std::bit_cast<uint32_t>(bf16_to_float(value)), bits << 16);
    const bool nan = (bits & 0x7fff) > 0x7f80;
    EXPECT_EQ(float_to_bf16(bf16_to_float(value)), nan ? value | 0x0040 : value) << bits;
  }
}

TEST(Bf16, ties_round_to_even) {
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(float_to_bf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace tandem
