// The one reader for each number that a user passes, at the edges of its range.
#include "engine/app/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::app {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Parameters, are_whole_numbers_within_their_range_to_its_edges) {
  EXPECT_EQ(read_whole("-1", kPredictRange), -1);
  EXPECT_EQ(read_whole("2147483647", kPredictRange), 2147483647);
  EXPECT_EQ(read_whole("007", kPredictRange), 7);
  EXPECT_EQ(read_whole("-2", kPredictRange), std::nullopt);
  EXPECT_EQ(read_whole("2147483648", kPredictRange), std::nullopt);
  EXPECT_EQ(read_whole("18446744073709551616", kPredictRange), std::nullopt);
  EXPECT_EQ(to_string(kParallelRange), "a whole number from 1 to 128");
}

TEST(Parameters, are_nothing_but_digits_behind_a_minus) {
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "1,000", "one", "1\n", "--1"})
    EXPECT_EQ(read_whole(text, kPredictRange), std::nullopt) << text;
}

TEST(Parameters, are_decimal_numbers_within_their_range_to_its_edges) {
  EXPECT_EQ(read_number("0.5", 0, 1), 0.5);
  EXPECT_EQ(read_number("1", 0, 1), 1);
  EXPECT_EQ(read_number("25e-2", 0, 1), 0.25);
  EXPECT_EQ(read_number("-0", 0, 1), 0);
  for (const char* text : {"", "-1", "1.01", "+1", " 1", "1 ", "0x1", "0x1p-1", "nan", "inf", "1e999", "0,5", "half"})
    EXPECT_EQ(read_number(text, 0, 1), std::nullopt) << text;
}

TEST(Parameters, of_seeds_go_to_the_last_number_of_64_bits) {
  EXPECT_EQ(read_seed("0")->value, 0u);
  EXPECT_EQ(read_seed("-0")->value, 0u) << "a number in JSON";
  EXPECT_EQ(read_seed("18446744073709551615")->value, 18446744073709551615u);
  EXPECT_FALSE(read_seed("7")->is_drawn);
  for (const char* text : {"18446744073709551616", "99999999999999999999999", "-2", "", "x", "1.5", "+1"})
    EXPECT_FALSE(read_seed(text).has_value()) << text;
}

TEST(Parameters, of_a_drawn_seed_are_told_and_differ) {
  const Seed one = *read_seed("-1"), other = *read_seed("-1");
  EXPECT_TRUE(one.is_drawn);
  EXPECT_TRUE(one.value != other.value || read_seed("-1")->value != one.value);
  EXPECT_THAT(describe_drawn(one), HasSubstr("seed " + std::to_string(one.value)));
  EXPECT_THAT(describe_drawn({one.value, false}), IsEmpty());
}

TEST(Parameters, are_counted_with_a_unit_that_leaves_digits_before_the_point) {
  EXPECT_EQ(in_thousands(0), "0");
  EXPECT_EQ(in_thousands(87), "87");
  EXPECT_EQ(in_thousands(999), "999");
  EXPECT_EQ(in_thousands(1000), "1.00 K");
  EXPECT_EQ(in_thousands(260032), "260 K");
  EXPECT_EQ(in_thousands(999999), "1.00 M");
  EXPECT_EQ(in_thousands(134515008), "135 M");
  EXPECT_EQ(in_thousands(1235814400), "1.24 B");
  EXPECT_EQ(in_thousands(46.7e9), "46.7 B");
  EXPECT_EQ(in_thousands(725e6, "G") + "B", "725 MB");
  EXPECT_EQ(in_thousands(1.32e9, "G") + "B", "1.32 GB");
  EXPECT_EQ(in_thousands(2e15), "2000 T");
}

}  // namespace
}  // namespace tandem::app
