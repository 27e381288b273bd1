// S5 on chains worked out by hand.
#include "engine/draft/reuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Tokens = std::vector<int32_t>;

TEST(ChainVerdict, accepts_up_to_the_first_other_choice) {
  const ChainVerdict verdict = judge_chain(Tokens{1, 2, 3}, Tokens{1, 9, 3, 4});
  EXPECT_EQ(verdict.accepted, 1);
  EXPECT_EQ(verdict.next, 9);
  EXPECT_EQ(verdict.run.begin, 2);
  EXPECT_EQ(verdict.run.length, 1);
}

TEST(ChainVerdict, of_a_draft_that_is_right_has_no_run) {
  const ChainVerdict all = judge_chain(Tokens{1, 2}, Tokens{1, 2, 7});
  EXPECT_EQ(all.accepted, 2);
  EXPECT_EQ(all.next, 7);
  EXPECT_EQ(all.run.length, 0);
  EXPECT_EQ(judge_chain({}, Tokens{7}).next, 7);
}

TEST(ChainVerdict, keeps_the_longest_run_behind_the_rejected_token_and_of_equals_the_first) {
  const ChainVerdict first = judge_chain(Tokens{1, 2, 3, 4, 5, 6}, Tokens{9, 2, 3, 8, 5, 6, 7});
  EXPECT_EQ(first.run.begin, 1);
  EXPECT_EQ(first.run.length, 2);
  const ChainVerdict longest = judge_chain(Tokens{1, 2, 3, 4, 5, 6}, Tokens{9, 2, 8, 4, 5, 6, 7});
  EXPECT_EQ(longest.run.begin, 3);
  EXPECT_EQ(longest.run.length, 3);
  EXPECT_EQ(judge_chain(Tokens{1, 2}, Tokens{9, 8, 7}).run.length, 0);
}

// Behind the accepted 1 the draft goes on with 2 3 4.
TEST(RejectionCause, is_missing_if_the_text_goes_on_with_the_rejected_token) {
  const RejectionCause cause = rejection_cause(Tokens{1, 2, 3, 4}, Tokens{1, 9, 2, 3, 4}, 1);
  EXPECT_EQ(cause.rejection, Rejection::missing);
  EXPECT_EQ(cause.segment.begin, 1);
  EXPECT_EQ(cause.segment.length, 3);
  EXPECT_EQ(cause.inserted, 1);
}

TEST(RejectionCause, is_a_synonym_if_the_text_goes_on_with_what_follows) {
  const RejectionCause one = rejection_cause(Tokens{1, 2, 3, 4}, Tokens{1, 9, 3, 4}, 1);
  EXPECT_EQ(one.rejection, Rejection::synonym);
  EXPECT_EQ(one.segment.begin, 2);
  EXPECT_EQ(one.segment.length, 2);
  EXPECT_EQ(one.inserted, 1);
  // 9 8 stand for 2.
  EXPECT_EQ(rejection_cause(Tokens{1, 2, 3, 4}, Tokens{1, 9, 8, 3, 4}, 1).inserted, 2);
}

TEST(RejectionCause, is_redundant_if_the_text_has_less_than_two_of_its_tokens_in_a_row) {
  const RejectionCause cause = rejection_cause(Tokens{1, 2, 3, 4}, Tokens{1, 9, 3, 5, 4, 2}, 1);
  EXPECT_EQ(cause.rejection, Rejection::redundant);
  EXPECT_EQ(cause.segment.length, 0);
  // The text goes on nine tokens later, which is too late.
  EXPECT_EQ(rejection_cause(Tokens{2, 3}, Tokens{9, 9, 9, 9, 9, 9, 9, 9, 9, 2, 3}, 0).rejection, Rejection::redundant);
  EXPECT_EQ(rejection_cause(Tokens{2, 3}, Tokens{9, 9, 9, 9, 9, 9, 9, 9, 2, 3}, 0).rejection, Rejection::missing);
}

TEST(RejectionCause, is_none_if_all_was_accepted) {
  EXPECT_EQ(rejection_cause(Tokens{1, 2}, Tokens{1, 2, 3}, 2).rejection, Rejection::none);
}

TEST(RejectionCause, has_the_longest_segment_with_the_fewest_inserted_tokens) {
  // 2 3 stands one and four tokens later; the second time 4 follows too.
  const RejectionCause longest = rejection_cause(Tokens{2, 3, 4}, Tokens{9, 2, 3, 8, 2, 3, 4}, 0);
  EXPECT_EQ(longest.inserted, 4);
  EXPECT_EQ(longest.segment.length, 3);
  EXPECT_EQ(rejection_cause(Tokens{2, 3, 4}, Tokens{9, 2, 3, 8, 2, 3, 7}, 0).inserted, 1);
  // 3 4 stands twice in the draft. The first place leaves out less.
  EXPECT_EQ(rejection_cause(Tokens{2, 3, 4, 3, 4}, Tokens{9, 3, 4}, 0).segment.begin, 1);
}

// SF14 (Table 2): of 13 rejected drafts of a summary, 2 had a word missing, 3 another word, and 8 nothing in common
// with the text: 15.4, 23.1 and 61.5 %. The paper's texts are not printed, so each draft stands for its class.
TEST(RejectionCause, of_thirteen_drafts_is_that_of_the_paper) {
  struct Labelled {
    Tokens draft, text;
  };
  const Tokens draft{10, 11, 12, 13, 14};
  const std::vector<Labelled> drafts{
      {draft, {10, 50, 11, 12, 13}},  // missing: one word more
      {draft, {50, 51, 52, 10, 11}},  // missing: three words more
      {draft, {10, 50, 12, 13, 14}},  // synonym: one for one
      {draft, {10, 50, 51, 13, 14}},  // synonym: two for two
      {draft, {50, 11, 12, 60, 61}},  // synonym: the first word
      {draft, {50, 51, 52, 53, 54}},  // redundant from here on
      {draft, {10, 50, 51, 52, 53}},
      {draft, {10, 11, 50, 51, 52}},
      {draft, {10, 11, 12, 50, 14}},  // a single word is no segment
      {draft, {10, 11, 12, 13, 50}},
      {draft, {10, 50, 11, 60, 13}},
      {draft, {50}},
      {draft, {10, 11, 12, 50, 51, 52, 53, 54, 55, 56, 57, 58, 13, 14}},  // nine words later
  };
  int64_t missing = 0, synonym = 0, redundant = 0;
  for (const Labelled& each : drafts) {
    const int64_t accepted = std::ranges::mismatch(each.draft, each.text).in1 - each.draft.begin();
    const Rejection rejection = rejection_cause(each.draft, each.text, accepted).rejection;
    missing += rejection == Rejection::missing;
    synonym += rejection == Rejection::synonym;
    redundant += rejection == Rejection::redundant;
  }
  EXPECT_EQ(missing, 2);
  EXPECT_EQ(synonym, 3);
  EXPECT_EQ(redundant, 8);
}

std::vector<int64_t> found_in(const ReusedRuns& runs) {
  std::vector<int64_t> steps;
  for (const ReusedRuns::Run& run : runs.runs()) steps.push_back(run.found);
  return steps;
}

TEST(ReusedRuns, are_offered_in_the_next_eight_steps) {
  ReusedRuns runs;
  runs.begin_step(3);
  EXPECT_THAT(found_in(runs), IsEmpty());
  runs.add({1, 2});
  for (int step = 1; step <= 8; ++step) {
    runs.begin_step(3);
    EXPECT_THAT(found_in(runs), ElementsAre(0)) << step;
  }
  runs.begin_step(3);
  EXPECT_THAT(found_in(runs), IsEmpty());
}

TEST(ReusedRuns, make_room_from_the_oldest_on_but_stay_in_their_first_step) {
  ReusedRuns runs(10);
  runs.begin_step(0);
  runs.add(Tokens(4));
  runs.begin_step(6);  // 6 + 4
  EXPECT_THAT(found_in(runs), ElementsAre(0));
  runs.add(Tokens(3));
  runs.begin_step(4);  // 4 + 4 + 3 = 11
  EXPECT_THAT(found_in(runs), ElementsAre(1));
  runs.add(Tokens(12));
  runs.begin_step(9);  // the run of step 1 goes; that of step 2 is new, and stays though 9 + 12 > 10
  EXPECT_THAT(found_in(runs), ElementsAre(2));
  runs.begin_step(0);  // 12 > 10, and it is not new any more
  EXPECT_THAT(found_in(runs), IsEmpty());
}

TEST(ReusedRuns, of_no_tokens_are_none) {
  ReusedRuns runs;
  runs.begin_step(0);
  runs.add({});
  runs.begin_step(0);
  EXPECT_THAT(runs.runs(), IsEmpty());
}

}  // namespace
}  // namespace tandem
