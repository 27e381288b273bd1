#include "engine/draft/text_drafts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tandem {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Tokens = std::vector<int32_t>;

class TextDraftsTest : public ::testing::Test {
 protected:
  // Valid until the next call.
  TextDrafts& drafts_of(const Tokens& text, TextDraftOptions options = {}) {
    options.max = std::min<int64_t>(options.max, 4);
    drafts_ = std::make_unique<TextDrafts>(std::move(options), rates_);
    for (const int32_t token : text) drafts_->append(token);
    drafts_->find_candidates();
    return *drafts_;
  }
  std::unique_ptr<TextDrafts> drafts_;
  AcceptanceRates rates_;
};

TEST_F(TextDraftsTest, begin_with_what_followed_the_longest_match) {
  const TextDrafts& drafts = drafts_of({1, 2, 3, 4, 5, 6, 7, 1, 2, 3});
  ASSERT_FALSE(drafts.candidates().empty());
  EXPECT_THAT(drafts.candidates()[0].tokens, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(drafts.source_of(0), DraftSource::context);
}

TEST_F(TextDraftsTest, have_other_continuations_with_smaller_chances) {
  // 1 2 was followed by 7 last, and by 9 before that. 2 alone was followed by 5, too.
  const TextDrafts& drafts = drafts_of({1, 2, 9, 1, 2, 7, 3, 2, 5, 1, 2});
  std::vector<int32_t> firsts;
  for (const DraftCandidate& candidate : drafts.candidates()) firsts.push_back(candidate.tokens[0]);
  EXPECT_THAT(firsts, ElementsAre(7, 9, 5));
  EXPECT_GT(drafts.candidates()[0].probabilities[0], drafts.candidates()[1].probabilities[0]);
}

TEST_F(TextDraftsTest, are_more_probable_behind_longer_matches) {
  const auto first_chance = [&](const Tokens& text) { return drafts_of(text).candidates()[0].probabilities[0]; };
  const double five = first_chance({1, 2, 3, 4, 5, 6, 9, 1, 2, 3, 4, 5});
  EXPECT_GT(five, first_chance({1, 2, 3, 4, 5, 6, 9, 7, 8, 3, 4, 5}));
}

TEST_F(TextDraftsTest, come_from_predictions_and_from_a_history) {
  TextDraftOptions options;
  options.predictions = {{10, 11, 12, 13}};
  options.history = std::make_shared<DraftHistory>();
  options.history->add(Tokens{10, 11, 15, 16});
  const TextDrafts& drafts = drafts_of({10, 11}, options);
  ASSERT_THAT(drafts.candidates(), SizeIs(2));
  EXPECT_THAT(drafts.candidates()[0].tokens, ElementsAre(12, 13));
  EXPECT_EQ(drafts.source_of(0), DraftSource::prediction);
  EXPECT_THAT(drafts.candidates()[1].tokens, ElementsAre(15, 16));
  EXPECT_EQ(drafts.source_of(1), DraftSource::history);
}

TEST_F(TextDraftsTest, trust_a_history_whose_places_agree) {
  const auto chance_behind = [&](const std::vector<Tokens>& records) {
    TextDraftOptions options;
    options.history = std::make_shared<DraftHistory>();
    for (const Tokens& record : records) options.history->add(record);
    return drafts_of({10, 11}, options).candidates().front().probabilities.front();
  };
  const double once = chance_behind({{10, 11, 12}}), same = chance_behind({{10, 11, 12}, {10, 11, 12}}),
               different = chance_behind({{10, 11, 13}, {10, 11, 12}});
  EXPECT_GT(same, once);
  EXPECT_GT(once, different);
}

TEST_F(TextDraftsTest, of_a_baseline_are_its_draft_alone) {
  TextDraftOptions options;
  options.rule = DraftRule::sam;
  const TextDrafts& drafts = drafts_of({1, 2, 9, 1, 2, 7, 3, 1, 2}, options);
  ASSERT_THAT(drafts.candidates(), SizeIs(1));
  EXPECT_THAT(drafts.candidates()[0].tokens, ElementsAre(9, 1, 2, 7));
  EXPECT_THAT(drafts.candidates()[0].probabilities, ElementsAre(1, 1, 1, 1));
}

TEST_F(TextDraftsTest, offer_a_rejected_run_again) {
  TextDrafts& drafts = drafts_of({1, 2, 3});
  EXPECT_THAT(drafts.candidates(), IsEmpty());
  drafts.add_verdict(Tokens{4, 5, 6}, Tokens{9, 5, 6, 7});  // 4 was wrong, 5 6 were right
  drafts.append(9);
  drafts.find_candidates();
  EXPECT_THAT(drafts.candidates(), Contains(Field(&DraftCandidate::tokens, ElementsAre(5, 6))));
}

TEST_F(TextDraftsTest, count_runs_and_those_that_were_right_once_each) {
  TextDrafts& drafts = drafts_of({1, 2, 3});
  const auto expect = [&](int64_t found, int64_t right) {
    EXPECT_EQ(drafts.run_counts().found, found);
    EXPECT_EQ(drafts.run_counts().right, right);
  };
  const auto append = [&](int32_t token) {
    drafts.append(token);
    drafts.find_candidates();
  };
  drafts.add_verdict(Tokens{4, 5}, Tokens{9, 8, 7});
  expect(0, 0);  // nothing behind the wrong token was right
  drafts.add_verdict(Tokens{4, 5, 6}, Tokens{9, 5, 6, 7});
  append(9);
  expect(1, 0);
  append(5);
  expect(1, 1);
  append(5);
  expect(1, 1);
  drafts.add_verdict(Tokens{4, 5, 6}, Tokens{9, 5, 6, 7});
  append(8);
  append(8);
  expect(2, 1);
}

// The text never goes on as it did before. Its chances fall faster than those of the class, which other texts share.
TEST_F(TextDraftsTest, lose_their_chances_in_a_text_that_they_do_not_fit) {
  Tokens text;
  for (int32_t i = 0; i < 12; ++i) text.insert(text.end(), {1, 2, 3, 100 + i});
  const double at_first = drafts_of({1, 2, 3, 100, 1, 2, 3}).candidates()[0].probabilities[0];
  TextDrafts drafts({}, rates_);
  for (const int32_t token : text) {
    drafts.find_candidates();
    drafts.append(token);
  }
  for (const int32_t token : {1, 2, 3}) drafts.append(token);
  drafts.find_candidates();
  EXPECT_LT(drafts.candidates()[0].probabilities[0], at_first);
}

TEST_F(TextDraftsTest, teach_the_rates_also_if_they_did_not_run) {
  const DraftClass once{DraftSource::context, 3, DraftPlace::once};
  const double before = rates_.probability(once);
  TextDrafts& drafts = drafts_of({1, 2, 3, 4, 8, 1, 2, 3});
  drafts.append(4);  // as the candidate said
  EXPECT_GT(rates_.probability(once), before);
  const double better = rates_.probability(once);
  TextDrafts& other = drafts_of({1, 2, 3, 4, 8, 1, 2, 3});
  other.append(5);
  EXPECT_LT(rates_.probability(once), better);
}

// S2. Behind 3 the prompt's logits expect 7, and behind 7, at place 3, they expect 8.
TEST_F(TextDraftsTest, take_what_the_prompts_logits_expect) {
  TextDrafts& drafts = drafts_of({1, 2, 3, 7, 5});
  drafts.calibrate(Tokens{1, 2, 3, 7, 5},
                   std::vector<Successors>{{2, -1, -1}, {3, -1, -1}, {7, 4, -1}, {8, -1, -1}, {9, 6, -1}});
  drafts.append(3);
  drafts.find_candidates();
  // The continuation of the match comes first: 7 5 3 7.
  ASSERT_THAT(drafts.candidates(), SizeIs(3));
  EXPECT_THAT(drafts.candidates()[1].tokens, ElementsAre(7, 8));
  EXPECT_THAT(drafts.candidates()[2].tokens, ElementsAre(4));
  EXPECT_EQ(drafts.source_of(1), DraftSource::calibrated);
  const DraftClass second{DraftSource::calibrated, 2, DraftPlace::later};
  const double before = rates_.probability(second);
  drafts.append(7);
  drafts.append(8);
  EXPECT_GT(rates_.probability(second), before) << "the path is judged token by token";
}

// Two paths begin with 5. Its chance is judged once.
TEST_F(TextDraftsTest, judge_a_token_of_several_paths_once) {
  TextDrafts& drafts = drafts_of({1, 5, 2});
  drafts.calibrate(Tokens{1, 5, 2}, std::vector<Successors>{{5, -1, -1}, {6, 7, -1}, {5, -1, -1}});
  drafts.append(1);
  drafts.find_candidates();
  const DraftClass first{DraftSource::calibrated, 1, DraftPlace::newest};
  AcceptanceRates once;
  once.add(first, true);
  drafts.append(5);
  EXPECT_EQ(rates_.probability(first), once.probability(first));
}

TEST_F(TextDraftsTest, offer_no_run_again_if_they_may_not) {
  TextDraftOptions options;
  options.reuses = false;
  TextDrafts& drafts = drafts_of({1, 2, 3}, options);
  drafts.add_verdict(Tokens{4, 5, 6}, Tokens{9, 5, 6, 7});
  drafts.append(9);
  drafts.find_candidates();
  EXPECT_THAT(drafts.candidates(), IsEmpty());
}

}  // namespace
}  // namespace tandem
