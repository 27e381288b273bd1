// N1 on numbers worked out by hand.
#include "engine/moe/routing_counts.h"

#include <gtest/gtest.h>

#include "sync/error.h"

namespace tandem {
namespace {

TEST(RoutingCounts, count_choices_of_each_layer) {
  RoutingCounts counts = empty_counts(4, 2, {1, 2});
  count_choices(counts, 0, std::vector<int32_t>{0, 3, 0, 1});
  count_choices(counts, 1, std::vector<int32_t>{2, 3});
  EXPECT_EQ(counts.counts[0], (ExpertCounts{2, 1, 0, 1}));
  EXPECT_EQ(counts.counts[1], (ExpertCounts{0, 0, 1, 1}));
  EXPECT_THROW(count_choices(counts, 1, std::vector<int32_t>{4}), Error);
  EXPECT_THROW(count_choices(counts, 1, std::vector<int32_t>{-1}), Error);
}

TEST(RoutingCounts, add_up) {
  RoutingCounts a = empty_counts(2, 1, {0}), b = a;
  a.tokens = 3, a.counts = {{1, 2}};
  b.tokens = 5, b.counts = {{5, 0}};
  const RoutingCounts sum = sum_of(a, b);
  EXPECT_EQ(sum.tokens, 8);
  EXPECT_EQ(sum.counts[0], (ExpertCounts{6, 2}));
  EXPECT_THROW(sum_of(a, empty_counts(3, 1, {0})), Error);
  EXPECT_THROW(sum_of(a, empty_counts(2, 1, {1})), Error);
}

TEST(Imbalance, is_the_largest_load_over_the_mean) {
  EXPECT_DOUBLE_EQ(imbalance(std::vector<int64_t>{6, 2, 2, 2}), 2.0);  // the mean is 3
  EXPECT_DOUBLE_EQ(imbalance(std::vector<int64_t>{5, 5, 5}), 1.0);
  EXPECT_DOUBLE_EQ(imbalance(std::vector<int64_t>{7, 0}), 2.0);
  EXPECT_DOUBLE_EQ(imbalance(std::vector<int64_t>{0, 0}), 0.0);
}

TEST(Popularity, falls_and_takes_the_lower_index_of_equals) {
  EXPECT_EQ(by_popularity(std::vector<int64_t>{3, 9, 3, 10, 0}), (std::vector<int64_t>{3, 1, 0, 2, 4}));
}

TEST(Overlap, is_the_share_of_the_most_popular_that_agree) {
  const std::vector<int64_t> a{9, 8, 7, 1, 0}, b{9, 1, 8, 7, 0};  // by popularity: 0 1 2 3 4 and 0 2 3 1 4
  EXPECT_DOUBLE_EQ(overlap(a, b, 1), 1.0);
  EXPECT_DOUBLE_EQ(overlap(a, b, 2), 0.5);
  EXPECT_DOUBLE_EQ(overlap(a, b, 3), 2.0 / 3);
  EXPECT_DOUBLE_EQ(overlap(a, b, 4), 1.0);
}

// The overlaps of the two prompts are 1 and 1/2 in the first layer, 0 and 1/2 in the second, 1 and 1 in the third. The
// means are 3/4, 1/4 and 1.
TEST(Overlap, on_prompts_is_the_median_over_the_layers_of_their_mean) {
  RoutingCounts calibration = empty_counts(4, 1, {0, 1, 2});
  calibration.counts = {{4, 3, 0, 0}, {4, 3, 0, 0}, {4, 3, 0, 0}};
  RoutingCounts first = calibration, second = calibration;
  first.counts = {{1, 1, 0, 0}, {0, 0, 1, 1}, {2, 1, 0, 0}};
  second.counts = {{1, 0, 1, 0}, {0, 1, 1, 0}, {1, 2, 0, 0}};
  EXPECT_DOUBLE_EQ(overlap_on(calibration, std::vector{first, second}, 2), 0.75);
  EXPECT_DOUBLE_EQ(overlap_on(calibration, {}, 2), 0.0);
}

TEST(ExpectedLoad, scales_what_was_counted_to_a_chunk) {
  EXPECT_DOUBLE_EQ(expected_load(300, 1000, 256), 76.8);
  EXPECT_DOUBLE_EQ(expected_load(0, 0, 256), 0.0);
  // The paper's example has 8 experts and chunks of 256, with twice the mean of 256 / 8.
  EXPECT_DOUBLE_EQ(2.0 * 256 / 8, expected_load(2, 8, 256));
}

}  // namespace
}  // namespace tandem
