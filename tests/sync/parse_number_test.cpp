// Numbers from texts: what is one, and what is refused.
#include "sync/parse_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace tandem {
namespace {

TEST(ParseNumber, takes_a_text_that_is_a_number_and_nothing_else) {
  EXPECT_EQ(parse_number<int>("0"), 0);
  EXPECT_EQ(parse_number<int>("-17"), -17);
  EXPECT_EQ(parse_number<int>("007"), 7);
  EXPECT_EQ(parse_number<double>("2.5e-3"), 0.0025);
  for (const char* text : {"", " 1", "1 ", "+1", "1.5", "0x10", "1,000", "one", "-", "1e3"})
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  for (const char* text : {"", "1,5", ".", "e3", "1e", "0x1p3", "+0.5"})
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
}

TEST(ParseNumber, takes_digits_of_another_base) {
  EXPECT_EQ(parse_number<uint32_t>("fF", 16), 255u);
  EXPECT_EQ(parse_number<int>("-101", 2), -5);
  for (const char* text : {"", "g", "0x1f", "f ", "-1"}) EXPECT_EQ(parse_number<uint32_t>(text, 16), std::nullopt);
}

TEST(ParseNumber, refuses_what_the_type_cannot_hold) {
  EXPECT_EQ(parse_number<int32_t>("2147483647"), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(parse_number<int32_t>("2147483648"), std::nullopt);
  EXPECT_EQ(parse_number<int32_t>("-2147483649"), std::nullopt);
  EXPECT_EQ(parse_number<uint64_t>("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(parse_number<uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_number<uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<double>("1e400"), std::nullopt);
}

TEST(ParseNumber, leaves_infinities_and_nan_to_its_callers) {
  EXPECT_EQ(parse_number<double>("inf"), std::numeric_limits<double>::infinity());
  ASSERT_TRUE(parse_number<double>("nan"));
  EXPECT_TRUE(std::isnan(*parse_number<double>("nan")));
}

TEST(ParseNumber, reads_no_byte_behind_a_view) {
  const std::string_view digits = "12345";
  EXPECT_EQ(parse_number<int>(digits.substr(1, 3)), 234);
}

}  // namespace
}  // namespace tandem
