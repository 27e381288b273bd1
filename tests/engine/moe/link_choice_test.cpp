// When passes of a text hand copies to the link.
#include "engine/moe/link_choice.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr ExpectedExperts kGain{.with_link = 1, .without = 2}, kLoss{.with_link = 2, .without = 1};

// Runs passes that take so long with the link and without it. Returns how many had the link.
int64_t run(LinkChoice& choice, int64_t passes, const ExpectedExperts& expected, double with_link, double without) {
  int64_t used = 0;
  for (int64_t pass = 0; pass < passes; ++pass) {
    const bool uses = choice.uses_link();
    used += uses;
    choice.took(expected, uses ? with_link : without);
  }
  return used;
}

TEST(LinkChoice, begins_without_the_link_and_takes_it_where_it_wins) {
  LinkChoice choice;
  EXPECT_EQ(run(choice, 4, kGain, 1, 2), 0);
  EXPECT_EQ(run(choice, 200, kGain, 1, 2), 200);
}

TEST(LinkChoice, begins_with_a_link_that_is_expected_to_save_much) {
  LinkChoice choice;
  choice.begin({.with_link = 1, .without = 1.4});
  EXPECT_FALSE(choice.uses_link()) << "29 % less";
  choice.begin({.with_link = 1, .without = 1.5});
  EXPECT_TRUE(choice.uses_link());
  EXPECT_EQ(run(choice, 200, {.with_link = 1, .without = 2}, 1.5, 9), 200) << "1 of 1.5 saved: nothing to compare";
  LinkChoice doubtful;
  doubtful.begin({.with_link = 1, .without = 2});
  EXPECT_EQ(run(doubtful, 12 + 4, {.with_link = 1, .without = 1.2}, 3, 2), 12);
  EXPECT_FALSE(doubtful.uses_link()) << "a measurement was needed, and said no";
}

TEST(LinkChoice, tries_no_link_that_is_expected_to_lose) {
  LinkChoice choice;
  EXPECT_EQ(run(choice, 1000, kLoss, 1, 2), 0);
}

// The trial has 12 passes.
TEST(LinkChoice, leaves_a_link_within_16_tokens_if_it_loses_although_it_was_expected_to_win) {
  LinkChoice choice;
  EXPECT_EQ(run(choice, 4 + 16, kGain, 2, 1), 12);
  EXPECT_EQ(run(choice, 100, kGain, 2, 1), 0);
}

TEST(LinkChoice, tries_a_link_that_lost_again_but_ever_more_seldom) {
  LinkChoice choice;
  const int64_t first = run(choice, 1000, kGain, 2, 1), second = run(choice, 1000, kGain, 2, 1);
  EXPECT_EQ(first, 4 * 12) << "behind 4, 128, 256 and 512 passes without it";
  EXPECT_EQ(second, 12);
}

TEST(LinkChoice, takes_up_a_link_whose_cost_has_changed) {
  LinkChoice choice;
  run(choice, 500, kGain, 2, 1);
  EXPECT_GT(run(choice, 1000, kGain, 1, 2), 500);
}

TEST(LinkChoice, tries_even_a_link_without_gain_after_a_thousand_passes) {
  LinkChoice choice;
  EXPECT_GT(run(choice, 1200, kLoss, 1, 2), 100) << "the laws were wrong";
}

TEST(LinkChoice, checks_a_link_that_won_now_and_then) {
  LinkChoice choice;
  const int64_t used = run(choice, 10'000, kGain, 1, 2);
  EXPECT_LT(used, 10'000 - 4 - 4);
  EXPECT_GT(used, 9'900);
  EXPECT_LT(run(choice, 20'000, kGain, 2, 1), 10'000) << "a check notices that it loses now";
}

// Two prompts without the link, three with it.
TEST(LinkChoice, of_prompts_compares_after_a_few) {
  LinkChoice wins(kPeriodsOfPrompts), loses(kPeriodsOfPrompts);
  EXPECT_EQ(run(wins, 20, kGain, 1, 2), 18);
  EXPECT_EQ(run(loses, 20, kGain, 2, 1), 3);
}

// One pass of many that was disturbed changes no choice.
TEST(LinkChoice, compares_medians) {
  LinkChoice choice;
  run(choice, 4, kGain, 1, 1.5);
  for (int pass = 0; pass < 12; ++pass) choice.took(kGain, pass % 4 == 3 ? 50 : 1);
  EXPECT_TRUE(choice.uses_link());
}

}  // namespace
}  // namespace tandem
