// The law of what experts cost on a lane follows measured passes.
#include "engine/moe/cost_law.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(CostLaws, find_both_parts_if_passes_differ) {
  CostLaw law({1, 1});
  EXPECT_FALSE(law.is_measured());
  // 3 for each expert and 0.5 for each choice.
  law.add(8, 8, 3 * 8 + 0.5 * 8);
  law.add(32, 512, 3 * 32 + 0.5 * 512);
  EXPECT_TRUE(law.is_measured());
  EXPECT_NEAR(law.line().fixed, 3, 1e-9);
  EXPECT_NEAR(law.line().per_token, 0.5, 1e-9);
}

TEST(CostLaws, scale_their_first_guess_if_all_passes_are_alike) {
  CostLaw law({2, 1});
  law.add(4, 4, 24);  // the guess says 12
  EXPECT_NEAR(law.line().fixed, 4, 1e-9);
  EXPECT_NEAR(law.line().per_token, 2, 1e-9);
  law.add(8, 8, 48);
  EXPECT_NEAR(law.line().fixed, 4, 1e-9);
}

TEST(CostLaws, have_no_negative_part) {
  CostLaw falling({1, 1});
  falling.add(10, 10, 10);
  falling.add(10, 100, 5);
  EXPECT_EQ(falling.line().per_token, 0);
  EXPECT_GT(falling.line().fixed, 0);
  CostLaw steep({1, 1});
  steep.add(10, 10, 1);
  steep.add(10, 100, 100);
  EXPECT_EQ(steep.line().fixed, 0);
  EXPECT_GT(steep.line().per_token, 0);
}

TEST(CostLaws, follow_newer_passes) {
  CostLaw law({1, 0});
  for (int pass = 0; pass < 10; ++pass) law.add(4, 4, 4);
  EXPECT_NEAR(law.line().fixed, 1, 1e-9);
  for (int pass = 0; pass < 300; ++pass) law.add(4, 4, 8);
  EXPECT_NEAR(law.line().fixed, 2, 0.01);
}

TEST(CostLaws, learn_nothing_from_a_lane_that_did_nothing) {
  CostLaw law({1, 2});
  law.add(0, 0, 1);
  law.add(1, 1, 0);
  EXPECT_FALSE(law.is_measured());
  EXPECT_EQ(law.line().per_token, 2);
}

}  // namespace
}  // namespace tandem
