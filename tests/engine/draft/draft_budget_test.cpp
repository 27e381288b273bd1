// M4: what a text may lose, on numbers worked out by hand.
#include "engine/draft/draft_budget.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(DraftBudget, allows_the_time_of_one_pass_at_first) {
  const DraftBudget budget;
  EXPECT_TRUE(budget.allows(10, 10));
  EXPECT_FALSE(budget.allows(11, 10));
}

TEST(DraftBudget, is_spent_by_wrong_drafts_and_earned_by_right_ones) {
  DraftBudget budget;
  budget.add(10, 6, 0);  // lost 6 of 10; 16 have passed, of which 0.16 are allowed
  EXPECT_TRUE(budget.allows(4.1, 10));
  EXPECT_FALSE(budget.allows(4.2, 10));
  budget.add(10, 4, 2);  // earned 20 - 4
  EXPECT_TRUE(budget.allows(20.2, 10));
  EXPECT_FALSE(budget.allows(20.5, 10));
}

TEST(DraftBudget, grows_by_a_hundredth_of_the_time) {
  DraftBudget budget;
  for (int pass = 0; pass < 100; ++pass) budget.add(10, 0, 0);
  EXPECT_TRUE(budget.allows(20, 10));
  EXPECT_FALSE(budget.allows(20.1, 10));
}

// Drafts that are always wrong: they run whenever they may. The text loses one pass and a hundredth.
TEST(DraftBudget, bounds_the_loss_of_a_text) {
  DraftBudget budget;
  double time = 0;
  constexpr double kPlain = 10, kExtra = 3;
  constexpr int kTokens = 400;
  for (int token = 0; token < kTokens; ++token) {
    const double extra = budget.allows(kExtra, kPlain) ? kExtra : 0;
    budget.add(kPlain, extra, 0);
    time += kPlain + extra;
  }
  EXPECT_GT(time, kTokens * kPlain);
  EXPECT_LE(time, kTokens * kPlain * 1.0102 + kPlain);
}

TEST(DraftBudget, keeps_a_bounded_gain) {
  DraftBudget budget;
  for (int pass = 0; pass < 1000; ++pass) budget.add(0.001, 0, 100000);
  EXPECT_FALSE(budget.allows(0.1, 0.001)) << "16 passes, one pass, and a hundredth of 1 are 0.027";
}

}  // namespace
}  // namespace tandem
