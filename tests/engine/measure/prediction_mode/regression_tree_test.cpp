#include "engine/measure/prediction_mode/regression_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sync/error.h"

namespace tandem {
namespace {

std::vector<const TreeSample*> pointers(const std::vector<TreeSample>& samples) {
  std::vector<const TreeSample*> all;
  for (const TreeSample& sample : samples) all.push_back(&sample);
  return all;
}

TEST(RegressionTree, splits_where_the_least_squares_are_left) {
  // The values are 1 1 | 5 7 at x = 1 2 | 3 4. The squares from the mean, left and right of each border:
  //   after 1: 0 + (1-13/3)^2 + (5-13/3)^2 + (7-13/3)^2 = 18.67;  after 2: 0 + (5-6)^2 + (7-6)^2 = 2;
  //   after 3: (1-7/3)^2 * 2 + (5-7/3)^2 + 0 = 10.67
  const std::vector<TreeSample> samples = {{{1}, 1}, {{2}, 1}, {{3}, 5}, {{4}, 7}};
  const TreeSplit split = best_split(pointers(samples), 1);
  EXPECT_EQ(split.feature, 0);
  EXPECT_DOUBLE_EQ(split.threshold, 2.5);
  EXPECT_DOUBLE_EQ(split.squares_left, 2);
}

TEST(RegressionTree, asks_the_feature_that_tells_more) {
  // The first feature leaves 0, 10 | 0, 10 mixed, with squares of 50 + 50. The second feature leaves none.
  const std::vector<TreeSample> samples = {{{1, 8}, 0}, {{1, 9}, 10}, {{2, 8}, 0}, {{2, 9}, 10}};
  const TreeSplit split = best_split(pointers(samples), 1);
  EXPECT_EQ(split.feature, 1);
  EXPECT_DOUBLE_EQ(split.threshold, 8.5);
  EXPECT_DOUBLE_EQ(split.squares_left, 0);
}

TEST(RegressionTree, leaves_no_part_with_fewer_samples_than_asked) {
  const std::vector<TreeSample> samples = {{{1}, 100}, {{2}, 0}, {{3}, 0}, {{4}, 1}};
  EXPECT_DOUBLE_EQ(best_split(pointers(samples), 1).threshold, 1.5);
  EXPECT_DOUBLE_EQ(best_split(pointers(samples), 2).threshold, 2.5) << "the only one with two on either side";
  EXPECT_EQ(best_split(pointers(samples), 3).feature, -1);
}

TEST(RegressionTree, does_not_split_what_is_equal) {
  const std::vector<TreeSample> values = {{{1}, 3}, {{2}, 3}, {{3}, 3}};
  EXPECT_EQ(best_split(pointers(values), 1).feature, -1) << "equal values: no split leaves less";
  const std::vector<TreeSample> features = {{{1}, 1}, {{1}, 2}, {{1}, 6}};
  EXPECT_EQ(best_split(pointers(features), 1).feature, -1) << "equal features: nothing to ask";
  EXPECT_DOUBLE_EQ(RegressionTree::fit(features).predict(std::vector{1.0}), 3) << "the mean of 1, 2 and 6";
}

// The border between 1 and 3 is 2. A size at the border takes at least the time of the larger one.
TEST(RegressionTree, takes_what_lies_on_a_border_for_what_lies_above_it) {
  const std::vector<TreeSample> samples = {{{1}, 5}, {{3}, 9}};
  const RegressionTree tree = RegressionTree::fit(samples, {1, 1});
  EXPECT_DOUBLE_EQ(tree.predict(std::vector{1.99}), 5);
  EXPECT_DOUBLE_EQ(tree.predict(std::vector{2.0}), 9);
}

TEST(RegressionTree, predicts_each_sample_it_has_learnt_when_leaves_may_be_single) {
  const std::vector<TreeSample> samples = {{{1, 1}, 3}, {{1, 2}, 8}, {{2, 1}, -4}, {{2, 2}, 5}};
  const RegressionTree tree = RegressionTree::fit(samples);
  for (const TreeSample& sample : samples) EXPECT_DOUBLE_EQ(tree.predict(sample.features), sample.value);
  EXPECT_EQ(tree.nodes().size(), 7u) << "four leaves, three questions";
  EXPECT_DOUBLE_EQ(tree.predict(std::vector{-50.0, 70.0}), 8) << "beyond what it has seen, the nearest leaf";
}

TEST(RegressionTree, asks_no_more_questions_than_it_may) {
  const std::vector<TreeSample> samples = {{{1}, 0}, {{2}, 2}, {{3}, 20}, {{4}, 24}};
  const RegressionTree tree = RegressionTree::fit(samples, {1, 1});
  EXPECT_EQ(tree.nodes().size(), 3u);
  EXPECT_DOUBLE_EQ(tree.predict(std::vector{1.0}), 1) << "the mean of 0 and 2";
  EXPECT_DOUBLE_EQ(tree.predict(std::vector{9.0}), 22) << "the mean of 20 and 24";
}

TEST(RegressionTree, is_the_same_whatever_the_order_of_the_samples) {
  std::vector<TreeSample> samples;
  for (int i = 0; i < 24; ++i)
    samples.push_back({{static_cast<double>(i % 4), static_cast<double>(i / 4 % 3)}, static_cast<double>(i * i % 17)});
  const RegressionTree tree = RegressionTree::fit(samples, {3, 2});
  std::ranges::reverse(samples);
  std::ranges::rotate(samples, samples.begin() + 7);
  const RegressionTree again = RegressionTree::fit(samples, {3, 2});
  ASSERT_EQ(tree.nodes().size(), again.nodes().size());
  for (size_t i = 0; i < tree.nodes().size(); ++i) {
    EXPECT_EQ(tree.nodes()[i].feature, again.nodes()[i].feature);
    EXPECT_EQ(tree.nodes()[i].threshold, again.nodes()[i].threshold);
    EXPECT_NEAR(tree.nodes()[i].value, again.nodes()[i].value, 1e-12);  // sums of 24 values below 17, rounded
  }
}

TEST(RegressionTree, refuses_what_it_cannot_learn_from) {
  EXPECT_THROW(RegressionTree::fit({}), Error);
  const std::vector<TreeSample> uneven = {{{1, 2}, 0}, {{1}, 0}};
  EXPECT_THROW(RegressionTree::fit(uneven), Error);
}

}  // namespace
}  // namespace tandem
