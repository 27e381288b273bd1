// C10: which of several plans divides the experts.
#include "engine/moe/plan_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace {

// Passes of plans that take so long, with such predictions. Returns how many passes each plan had.
std::vector<int64_t> run(PlanChoice& choice, int64_t passes, const std::vector<double>& predicted,
                         const std::vector<double>& seconds) {
  std::vector<int64_t> ran(seconds.size());
  for (int64_t pass = 0; pass < passes; ++pass) {
    choice.predict(predicted);
    ++ran[choice.plan()];
    choice.took({.seconds = seconds[choice.plan()]});
  }
  return ran;
}

TEST(PlanChoice, begins_with_the_least_prediction_and_stays_where_it_holds) {
  PlanChoice choice(3);
  EXPECT_EQ(run(choice, 100, {3, 1, 2}, {3, 1, 2}), (std::vector<int64_t>{0, 100, 0}));
  PlanChoice equal(2);
  EXPECT_EQ(run(equal, 100, {1, 1}, {1, 1}), (std::vector<int64_t>{100, 0})) << "the first of equal ones";
}

TEST(PlanChoice, leaves_a_plan_that_is_slower_than_anothers_prediction_within_16_passes) {
  PlanChoice choice(2);
  const std::vector<int64_t> ran = run(choice, 200, {1, 2}, {3, 2});
  EXPECT_LE(ran[0], 16 + 8) << "a trial again after 128 passes";
  PlanChoice first(2);
  EXPECT_EQ(run(first, 8, {1, 2}, {3, 2})[0], 8);
  EXPECT_EQ(first.plan(), 1u);
}

TEST(PlanChoice, goes_back_where_the_others_prediction_was_wrong) {
  PlanChoice choice(2);
  const std::vector<int64_t> ran = run(choice, 100, {1, 1.2}, {1.5, 1.7});
  EXPECT_EQ(ran[1], 8) << "the trial of the other plan";
  EXPECT_EQ(choice.plan(), 0u);
}

TEST(PlanChoice, leaves_a_plan_that_is_far_behind_after_four_passes) {
  PlanChoice choice(2);
  EXPECT_EQ(run(choice, 100, {1, 1.2}, {1.5, 9})[1], 4);
}

TEST(PlanChoice, tries_every_plan_that_may_be_the_fastest_and_keeps_that_one) {
  PlanChoice choice(4);
  const std::vector<int64_t> ran = run(choice, 120, {1, 1.1, 1.2, 9}, {2, 1.9, 1.5, 1});
  EXPECT_EQ(choice.plan(), 2u);
  EXPECT_GT(ran[2], 100 - 16);
  EXPECT_EQ(ran[3], 0) << "its prediction is worse than what runs";
}

TEST(PlanChoice, changes_nothing_for_less_than_three_percent) {
  PlanChoice choice(2);
  EXPECT_EQ(run(choice, 100, {1, 1.96}, {2, 1}), (std::vector<int64_t>{100, 0}));
  EXPECT_GT(run(choice, 100, {1, 1.93}, {2, 1})[1], 0);
}

TEST(PlanChoice, tries_a_plan_that_lost_again_but_ever_more_seldom) {
  PlanChoice choice(2);
  const int64_t first = run(choice, 1000, {1, 2}, {3, 2})[0], second = run(choice, 1000, {1, 2}, {3, 2})[0];
  EXPECT_EQ(first, 8 + 3 * 4) << "then after 128, 256 and 512 passes";
  EXPECT_LE(second, 4);
}

TEST(PlanChoice, takes_up_a_plan_whose_time_has_changed) {
  PlanChoice choice(2);
  run(choice, 300, {1, 2}, {3, 2});
  EXPECT_GT(run(choice, 1000, {1, 2}, {1, 2})[0], 500);
}

TEST(PlanChoice, leaves_a_plan_that_becomes_slower_than_another_one_was) {
  PlanChoice choice(2);
  run(choice, 40, {1, 1.5}, {2, 1.5});
  ASSERT_EQ(choice.plan(), 1u);
  EXPECT_GT(run(choice, 30, {1, 1.5}, {2, 4})[0], 15);
}

// The plan tries a variant of itself for 12 passes, which is slow.
TEST(PlanChoice, does_not_count_variants_that_a_plan_tries) {
  PlanChoice choice(2);
  for (int pass = 0; pass < 30; ++pass) {
    const bool tries = pass >= 4 && pass < 16;
    choice.predict(std::vector<double>{1, 1.5});
    choice.took({.seconds = tries ? 9.0 : 1.0, .variant = tries, .tries = tries});
    ASSERT_EQ(choice.plan(), 0u) << "pass " << pass;
  }
}

TEST(PlanChoice, judges_a_plan_that_still_tries_after_16_passes) {
  PlanChoice choice(2);
  for (int pass = 0; pass < 16; ++pass) {
    choice.predict(std::vector<double>{1, 1.5});
    ASSERT_EQ(choice.plan(), 0u) << "pass " << pass;
    choice.took({.seconds = 9, .variant = 1, .tries = true});
  }
  EXPECT_EQ(choice.plan(), 1u);
}

TEST(PlanChoice, forgets_the_passes_of_an_earlier_variant) {
  PlanChoice choice(2);
  const auto pass = [&](double seconds, int variant) {
    choice.predict(std::vector<double>{1, 1.5});
    choice.took({.seconds = seconds, .variant = variant});
  };
  for (int i = 0; i < 6; ++i) pass(9, 0);
  for (int i = 0; i < 6; ++i) pass(1, 1);
  EXPECT_EQ(choice.plan(), 0u);
}

TEST(PlanChoice, of_prompts_judges_after_two) {
  PlanChoice choice(2, kPlansOfPrompts);
  EXPECT_EQ(run(choice, 10, {1, 2}, {3, 2}), (std::vector<int64_t>{2, 8}));
}

}  // namespace
}  // namespace tandem
