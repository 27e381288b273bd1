// M4 on times worked out by hand.
#include "engine/draft/pass_size.h"

#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace {

using Numbers = std::vector<double>;

TEST(BestDraftCount, is_the_one_that_gives_the_most_tokens_in_its_time) {
  // 1 / 10 = 0.1, 1.9 / 12 = 0.158, 2.6 / 15 = 0.173, 2.8 / 19 = 0.147.
  EXPECT_EQ(best_draft_count(Numbers{0.9, 0.7, 0.2}, Numbers{10, 12, 15, 19}), 2);
}

TEST(BestDraftCount, is_none_where_drafts_cost_more_than_they_give) {
  EXPECT_EQ(best_draft_count(Numbers{0.2, 0.1}, Numbers{10, 13, 16}), 0);
  EXPECT_EQ(best_draft_count({}, Numbers{10}), 0);
  EXPECT_EQ(best_draft_count(Numbers{1, 1}, Numbers{10}), 0) << "no pass with a draft has a time";
}

TEST(BestDraftCount, is_the_least_of_equally_good_ones) {
  EXPECT_EQ(best_draft_count(Numbers{1, 1, 1}, Numbers{10, 20, 30, 40}), 0);
  EXPECT_EQ(best_draft_count(Numbers{1, 1, 1}, Numbers{10, 16, 24, 32}), 1);
}

TEST(BestDraftCount, looks_beyond_a_loss) {
  // 1 / 10 = 0.1, 1.9 / 20 = 0.095, 2.8 / 21 = 0.133.
  EXPECT_EQ(best_draft_count(Numbers{0.9, 0.9}, Numbers{10, 20, 21}), 2);
}

TEST(BestDraftCount, shares_a_pass_among_texts) {
  // Four texts: 4 / 20 = 0.2, and with a sure draft 5 / 24 = 0.208. One text: 1 / 20 = 0.05, 2 / 24 = 0.083.
  EXPECT_EQ(best_draft_count(Numbers{1}, Numbers{20, 24}, 4), 1);
  EXPECT_EQ(best_draft_count(Numbers{0.7}, Numbers{20, 24}, 4), 0);  // 4.7 / 24 = 0.196
  EXPECT_EQ(best_draft_count(Numbers{0.7}, Numbers{20, 24}, 1), 1);
}

TEST(BestDraftCount, leaves_a_gain_within_the_margin) {
  // 1.25 / 12 = 0.1042, which is 4.2 % more than 0.1.
  EXPECT_EQ(best_draft_count(Numbers{0.25}, Numbers{10, 12}, 1, 0.03), 1);
  EXPECT_EQ(best_draft_count(Numbers{0.25}, Numbers{10, 12}, 1, 0.05), 0);
}

// Two texts get a token each, and drafts of 0.5 and 0.25 in a pass of 4 seconds.
TEST(TokensASecond, are_the_texts_and_the_chances_of_their_drafts_over_the_time) {
  const std::vector<double> weights{0.5, 0.25, 0.1}, seconds{1, 2, 4};
  EXPECT_EQ(tokens_a_second(weights, seconds, 2, 2), 0.6875);
  EXPECT_EQ(tokens_a_second(weights, seconds, 2, 0), 2);
}

}  // namespace
}  // namespace tandem
