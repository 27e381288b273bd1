#include "engine/constraint/json/decimal.h"

#include <gtest/gtest.h>

namespace tandem::constraint {
namespace {

TEST(Decimal, is_read_from_any_form_of_a_number) {
  EXPECT_EQ(read_decimal("0").text(), "0");
  EXPECT_EQ(read_decimal("-0.0").text(), "0");
  EXPECT_EQ(read_decimal("12.50").text(), "12.5");
  EXPECT_EQ(read_decimal("-1.25e2").text(), "-125");
  EXPECT_EQ(read_decimal("1.25E-3").text(), "0.00125");
  EXPECT_EQ(read_decimal("1e+20").text(), "100000000000000000000");
}

TEST(Decimal, is_compared_exactly) {
  const auto less = [](const char* a, const char* b) { return compare(read_decimal(a), read_decimal(b)) < 0; };
  EXPECT_TRUE(less("9", "10"));
  EXPECT_TRUE(less("-10", "-9"));
  EXPECT_TRUE(less("-1", "0"));
  EXPECT_TRUE(less("0.10000000000000000001", "0.10000000000000000002"));
  EXPECT_TRUE(less("0.1", "0.11"));
  EXPECT_FALSE(less("1", "1.0"));
  EXPECT_EQ(compare(read_decimal("1"), read_decimal("1.0")), std::strong_ordering::equal);
}

// Multiples of 10^exponent beside a value, on the number line.
TEST(Decimal, has_neighbours) {
  EXPECT_EQ(next_above(read_decimal("1.5"), 0).text(), "2");
  EXPECT_EQ(next_above(read_decimal("2"), 0).text(), "3");
  EXPECT_EQ(next_above(read_decimal("-1.5"), 0).text(), "-1");
  EXPECT_EQ(next_above(read_decimal("-1"), 0).text(), "0");
  EXPECT_EQ(next_above(read_decimal("999"), 0).text(), "1000");
  EXPECT_EQ(next_below(read_decimal("1000"), 0).text(), "999");
  EXPECT_EQ(next_below(read_decimal("1.5"), 0).text(), "1");
  EXPECT_EQ(next_below(read_decimal("0"), 0).text(), "-1");
  EXPECT_EQ(next_below(read_decimal("-1.5"), 0).text(), "-2");
  EXPECT_EQ(next_below(read_decimal("1"), -3).text(), "0.999");
  EXPECT_EQ(next_above(read_decimal("0"), -3).text(), "0.001");
  EXPECT_EQ(next_above(read_decimal("123456"), 3).text(), "124000");
  EXPECT_EQ(next_below(read_decimal("123456"), 3).text(), "123000");
  EXPECT_EQ(next_above(read_decimal("5"), 3).text(), "1000");
}

}  // namespace
}  // namespace tandem::constraint
