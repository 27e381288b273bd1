// M4's times on passes that the test makes up. A pass of n tokens is predicted to take n seconds.
#include "engine/run/choice/pass_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tandem {
namespace {

class PassTimesTest : public ::testing::Test {
 protected:
  double of(int64_t drafts, bool only_open = false) { return times_.seconds({1}, drafts, 0, only_open).back(); }
  void learn(int64_t tokens, double seconds, int passes = 1) {
    for (int pass = 0; pass < passes; ++pass) times_.learn({1}, tokens, 0, seconds);
  }
  PassTimes times_{[](int64_t tokens, int64_t, bool) { return static_cast<double>(tokens); }, 1.0};
};

TEST_F(PassTimesTest, are_predictions_before_anything_ran) {
  EXPECT_EQ(of(0), 1);
  EXPECT_EQ(of(1), 2);
  EXPECT_EQ(of(3), 4);
  EXPECT_TRUE(std::isinf(of(2))) << "three tokens are no width";
}

TEST_F(PassTimesTest, have_more_widths_for_several_texts) {
  const auto widths_behind = [&](int64_t texts) {
    std::vector<int64_t> widths;
    const std::vector<double> seconds = times_.seconds({texts}, 20, 0, false);
    for (size_t n = 1; n < seconds.size(); ++n)
      if (!std::isinf(seconds[n])) widths.push_back(texts + static_cast<int64_t>(n));
    return widths;
  };
  EXPECT_THAT(widths_behind(1), ::testing::ElementsAre(2, 4, 8, 16));
  EXPECT_THAT(widths_behind(5), ::testing::ElementsAre(6, 8, 10, 12, 14, 16));
  EXPECT_THAT(widths_behind(20), ::testing::ElementsAre(32));
}

TEST_F(PassTimesTest, are_corrected_by_the_median_of_passes_behind_the_first) {
  learn(4, 100);
  EXPECT_EQ(of(3), 4) << "the first pass does not count";
  learn(4, 6);
  learn(4, 6, 2);
  learn(4, 50);
  EXPECT_EQ(of(3), 6);
  EXPECT_EQ(of(0), 1.5) << "the ratio of the nearest width";
  learn(1, 100);
  learn(1, 2);
  EXPECT_EQ(of(0), 2);
}

TEST_F(PassTimesTest, open_a_width_when_its_gains_would_have_paid_twice_for_it) {
  EXPECT_TRUE(std::isinf(of(1, true)));
  EXPECT_EQ(of(0, true), 1);
  times_.add_wish({1}, 2, 1.5);
  EXPECT_TRUE(std::isinf(of(1, true)));
  times_.add_wish({1}, 2, 0.6);
  EXPECT_EQ(of(1, true), 2);
  EXPECT_TRUE(std::isinf(of(3, true))) << "another width";
}

// The width was slow when another program had the cores. It is tried again later, and believed then.
TEST_F(PassTimesTest, forget_a_width_that_has_not_run_for_long) {
  learn(4, 40, 6);
  EXPECT_EQ(of(3), 40);
  learn(1, 1, 60);
  EXPECT_EQ(of(3), 40);
  learn(1, 1, 10);
  EXPECT_EQ(of(3), 4) << "the prediction, by the ratio of one token";
  learn(4, 5);
  EXPECT_EQ(of(3), 5);
}

TEST_F(PassTimesTest, forget_a_width_half_as_often_if_it_is_slow_indeed) {
  learn(4, 40, 6);
  learn(1, 1, 70);
  learn(4, 40);
  learn(1, 1, 70);
  EXPECT_EQ(of(3), 40);
  learn(1, 1, 70);
  EXPECT_EQ(of(3), 4);
}

TEST_F(PassTimesTest, tell_one_text_from_several) {
  learn(4, 8, 3);
  times_.learn({2}, 4, 0, 6);
  times_.learn({2}, 4, 0, 6);
  EXPECT_EQ(of(3), 8);
  EXPECT_EQ(times_.seconds({2}, 2, 0, false).back(), 6);
}

TEST_F(PassTimesTest, tell_trees_from_chains) {
  const PassBase trees{1, true};
  learn(4, 8, 3);
  EXPECT_EQ(times_.seconds(trees, 3, 0, false).back(), 8) << "nothing else is known";
  times_.learn(trees, 4, 0, 12);
  times_.learn(trees, 4, 0, 12);
  EXPECT_EQ(times_.seconds(trees, 3, 0, false).back(), 12);
  EXPECT_EQ(of(3), 8);
  EXPECT_EQ(times_.seconds(trees, 3, 0, false).front(), times_.seconds({1}, 3, 0, false).front())
      << "a pass without drafts has no tree";
  EXPECT_THAT(times_.measured(), ::testing::ElementsAre(::testing::Pair(4, 8))) << "chains of one text";
}

}  // namespace
}  // namespace tandem
