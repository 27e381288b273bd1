// Percentiles of samples worked out by hand.
#include "engine/plan/prediction/statistics.h"

#include <gtest/gtest.h>

#include "sync/error.h"

namespace tandem {
namespace {

TEST(Statistics, take_the_nearest_rank_of_an_unsorted_sample) {
  // Sorted: 1 2 3 4 5 6 7 8 9 10. Half of ten is rank 5, nine tenths are rank 9, 99 of 100 are rank 9.9, rounded up.
  const Distribution d = summarise({7, 1, 10, 4, 2, 9, 3, 8, 6, 5});
  EXPECT_EQ(d.count, 10);
  EXPECT_EQ(d.min, 1);
  EXPECT_EQ(d.p50, 5);
  EXPECT_EQ(d.p90, 9);
  EXPECT_EQ(d.p99, 10);
  EXPECT_EQ(d.max, 10);
  // A quarter of ten, rounded down, is cut off at each end. The values 3 to 8 remain.
  EXPECT_EQ(d.middle, (3 + 4 + 5 + 6 + 7 + 8) / 6.0);
}

TEST(Statistics, tell_one_outlier_of_a_hundred_from_the_rest) {
  std::vector<double> values(99, 2.0);
  values.insert(values.begin(), 500.0);
  EXPECT_EQ(summarise(values).p99, 2);
  EXPECT_EQ(summarise(values).max, 500);
  values[1] = 400;
  EXPECT_EQ(summarise(values).p99, 400);
}

TEST(Statistics, of_one_value_are_that_value) {
  const Distribution d = summarise({3.5});
  for (const double value : {d.min, d.p50, d.p90, d.p99, d.max, median({3.5})}) EXPECT_EQ(value, 3.5);
}

TEST(Statistics, of_nothing_have_no_percentile) {
  EXPECT_EQ(summarise({}).count, 0);
  EXPECT_THROW(percentile({}, 50), Error);
}

TEST(Statistics, give_the_ends_for_percentiles_near_the_ends) {
  EXPECT_EQ(percentile({1, 2, 3, 4}, 0.001), 1);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 25), 1);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 25.001), 2);
  EXPECT_EQ(percentile({1, 2, 3, 4}, 100), 4);
}

}  // namespace
}  // namespace tandem
