#include "sync/cycle_line.h"

#include <gtest/gtest.h>

#include <random>

namespace tandem::sync {
namespace {

TEST(CycleLine, goes_straight_from_tie_to_tie_and_on_beyond_them) {
  CycleLine line({1000, 10.0});
  EXPECT_DOUBLE_EQ(line.seconds(1500), 10.0) << "one tie has no rate";
  line.extend({3000, 11.0});
  line.extend({4000, 12.0});
  EXPECT_DOUBLE_EQ(line.seconds(0), 9.5);
  EXPECT_DOUBLE_EQ(line.seconds(1000), 10.0);
  EXPECT_DOUBLE_EQ(line.seconds(2000), 10.5);
  EXPECT_DOUBLE_EQ(line.seconds(3000), 11.0);
  EXPECT_DOUBLE_EQ(line.seconds(3500), 11.5);
  EXPECT_DOUBLE_EQ(line.seconds(4000), 12.0);
  EXPECT_DOUBLE_EQ(line.seconds(5000), 13.0);
}

TEST(CycleLine, does_not_turn_back_with_a_tie_that_does) {
  CycleLine line({1000, 10.0});
  line.extend({2000, 11.0});
  line.extend({2100, 10.9});
  EXPECT_DOUBLE_EQ(line.seconds(2100), 11.1);
  line.extend({1500, 99.0});
  EXPECT_DOUBLE_EQ(line.seconds(2200), 11.2) << "a tie of an earlier moment is none";
}

// Spans of one device end with a tie after each pass, and each tie has an error of its own, as on a loaded machine.
// With a new pair of ties for each pass a pass may begin before the end of the last one. With the line it does not.
TEST(CycleLine, keeps_the_order_of_values_that_are_asked_for_between_ties_of_any_error) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> error(-1e-6, 1e-6);
  constexpr double kRate = 3e9;
  const ClockTie first{0, 0.0};
  CycleLine line(first);
  double ended_at = 0, ended_at_by_pairs = 0, overlap_by_pairs = 0;
  uint64_t now = 3'000'000;
  for (int pass = 0; pass < 1000; ++pass) {
    const uint64_t begin = now + 30, end = begin + 300'000;
    now = end + 30;
    const ClockTie tie{now, static_cast<double>(now) / kRate + error(random)};
    line.extend(tie);
    EXPECT_GE(line.seconds(begin), ended_at) << pass;
    EXPECT_NEAR(line.seconds(end), static_cast<double>(end) / kRate, 1.1e-6);
    ended_at = line.seconds(end);
    overlap_by_pairs = std::max(overlap_by_pairs, ended_at_by_pairs - seconds_of(begin, first, tie));
    ended_at_by_pairs = seconds_of(end, first, tie);
  }
  EXPECT_GT(overlap_by_pairs, 1e-7) << "otherwise these errors show nothing";
}

}  // namespace
}  // namespace tandem::sync
