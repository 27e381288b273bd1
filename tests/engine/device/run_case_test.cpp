// Which values pass as equal to a reference's.
#include "tests/engine/device/run_case.h"

#include <gtest/gtest.h>

#include <limits>

namespace tandem::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(IsWithin, takes_values_up_to_the_allowed_difference) {
  EXPECT_TRUE(is_within(1.25, 1, 0.25));
  EXPECT_FALSE(is_within(1.375, 1, 0.25));
  EXPECT_TRUE(is_within(-0.0, 0, 0));
}

TEST(IsWithin, takes_nan_and_infinities_for_themselves_alone) {
  EXPECT_TRUE(is_within(kNan, kNan, 0));
  EXPECT_TRUE(is_within(kInfinity, kInfinity, 0));
  EXPECT_FALSE(is_within(kNan, 1, kInfinity));
  EXPECT_FALSE(is_within(1, kNan, kInfinity));
  EXPECT_FALSE(is_within(kInfinity, -kInfinity, kInfinity));
  EXPECT_FALSE(is_within(1, kInfinity, kInfinity)) << "an infinite result has an infinite tolerance";
}

TEST(IsWithin, takes_nothing_else_where_no_difference_was_computed) { EXPECT_FALSE(is_within(1.5, 1, kNan)); }

}  // namespace
}  // namespace tandem::testing
