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

TEST(RouterMargins, count_what_is_near) {
  RouterMargins margins;
  for (const double margin : {0.5, 0.0019, 3.0, 0.002}) margins.add(margin);
  EXPECT_EQ(margins.decisions, 4);
  EXPECT_EQ(margins.near_ties, 1);
  EXPECT_DOUBLE_EQ(margins.smallest, 0.0019);
}

}  // namespace
}  // namespace tandem
