#include "tests/engine/run/logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tandem::testing {
namespace {

TEST(Logits, differ_by_the_largest_difference_of_two_values) {
  EXPECT_EQ(largest_difference(std::vector<float>{1, 2, 3}, std::vector<float>{1, 0, 4}), 2);
  EXPECT_EQ(largest_difference(std::vector<float>{1}, std::vector<float>{1, 2}), INFINITY);
}

// Equal values behind the NaN do not hide it.
TEST(Logits, that_hold_no_number_agree_with_nothing) {
  EXPECT_EQ(largest_difference(std::vector<float>{1, NAN, 3}, std::vector<float>{1, 2, 3}), INFINITY);
  EXPECT_EQ(largest_difference(std::vector<float>{1, 2, 3}, std::vector<float>{NAN, 2, 3}), INFINITY);
}

}  // namespace
}  // namespace tandem::testing
