// How close a router is to another decision, on numbers worked out by hand.
#include "engine/moe/near_ties.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tandem {
namespace {

TEST(RouterMargin, is_what_parts_the_chosen_from_the_rest) {
  const std::vector<float> scores{1, 4, -2, 3.5f};
  EXPECT_DOUBLE_EQ(router_margin(scores, 1, Gating::softmax), 0.5);
  EXPECT_DOUBLE_EQ(router_margin(scores, 2, Gating::sigmoid), 2.5);
  EXPECT_TRUE(std::isinf(router_margin(scores, 4, Gating::softmax)));
}

// The first of 10 and 5 is 5 ahead: |10 - 5 - 0.02 * 10| = 4.8. The rest, 5 and 4.9, are 0.1 apart. The bound there is
// 0.02 * 5 = 0.1, so no margin is left.
TEST(RouterMargin, of_a_sparse_mixer_counts_its_bounds) {
  EXPECT_NEAR(router_margin(std::vector<float>{10, 5}, 1, Gating::sparse_mixer), 4.8, 1e-6);
  EXPECT_NEAR(router_margin(std::vector<float>{5, 4.9f, 10}, 2, Gating::sparse_mixer), 0, 1e-6);
  EXPECT_NEAR(router_margin(std::vector<float>{5, 4, 10}, 2, Gating::sparse_mixer), 0.9, 1e-6);
}

// Sigmoids of 0, ln 3 and -ln 3 are 0.5, 0.75 and 0.25. With biases they are 0.5, 0.45 and 0.65.
TEST(RouterMargin, of_a_biased_router_is_that_of_what_it_chooses_by) {
  const float log3 = std::log(3.0f);
  const std::vector<float> scores{0, log3, -log3}, bias{0, -0.3f, 0.4f};
  EXPECT_NEAR(router_margin(scores, RouterRule{1, Gating::sigmoid, bias}), 0.15, 1e-6);
  EXPECT_NEAR(router_margin(scores, RouterRule{2, Gating::sigmoid, bias}), 0.05, 1e-6);
}

// Groups (5, 1), (4, 3) and (2, 0): the best two are 2 ahead of the third. Among their experts 5 and 4 are chosen, and
// 3 is not. With biases of 0, softmaxes of ln 4, ln 1, ln 3, ln 2 are 0.4, 0.1, 0.3 and 0.2: both groups are 0.5.
TEST(RouterMargin, of_groups_counts_their_distance_too) {
  const std::vector<float> scores{5, 1, 4, 3, 2, 0};
  EXPECT_NEAR(router_margin(scores, RouterRule{2, Gating::softmax, {}, 3, 2}), 1, 1e-6);
  EXPECT_NEAR(router_margin(scores, RouterRule{3, Gating::softmax, {}, 3, 2}), 2, 1e-6);
  const std::vector<float> even{std::log(4.0f), 0, std::log(3.0f), std::log(2.0f)}, none(4, 0.0f);
  EXPECT_NEAR(router_margin(even, RouterRule{1, Gating::softmax, none, 2, 1}), 0, 1e-6);
}

TEST(RouterMargins, count_what_is_near) {
  RouterMargins margins;
  for (const double margin : {0.5, 0.0019, 3.0, 0.002}) margins.add(margin);
  EXPECT_EQ(margins.decisions, 4);
  EXPECT_EQ(margins.near_ties, 1);
  EXPECT_DOUBLE_EQ(margins.smallest, 0.0019);
}

}  // namespace
}  // namespace tandem
