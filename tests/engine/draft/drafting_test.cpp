// S3 and S7 on contexts worked out by hand.
#include "engine/draft/drafting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/engine/draft/slow_matches.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Tokens = std::vector<int32_t>;

struct Case {
  Tokens context;
  std::vector<Tokens> history{};
  int64_t max = 8, match_min = 1;
  int32_t end_of_text = -1;
};

Draft draft_of(const Case& given, DraftRule rule = DraftRule::sdnpu) {
  SuffixAutomaton context;
  for (const int32_t token : given.context) context.append(token);
  DraftHistory history;
  for (const Tokens& record : given.history) history.add(record);
  HistoryMatcher matcher(history);
  if (rule == DraftRule::pld) return draft_by_prompt_lookup(context.tokens(), given.max);
  if (rule == DraftRule::sam) return draft_by_suffix_automaton(context, matcher, history, given.max);
  return draft_by_match(context, matcher, history, given.max, given.match_min,
                        [&](int32_t token) { return token == given.end_of_text; });
}

TEST(Drafting, takes_the_longest_match_and_of_equals_the_last) {
  // 2 3 stands at 1 and at 4; before the first one stands the 1 that the end has too.
  const Draft longest = draft_of({{1, 2, 3, 7, 2, 3, 8, 1, 2, 3}, {}, 2});
  EXPECT_EQ(longest.match.length, 3);
  EXPECT_EQ(longest.match.end, 2);
  EXPECT_THAT(longest.tokens, ElementsAre(7, 2));
  const Draft last = draft_of({{2, 3, 7, 2, 3, 8, 2, 3}, {}, 2});
  EXPECT_EQ(last.match.end, 4);
  EXPECT_THAT(last.tokens, ElementsAre(8, 2));
}

TEST(Drafting, prefers_the_context_to_records_of_the_same_length) {
  const Case both{{1, 2, 3, 9, 1, 2}, {{1, 2, 5, 6}}};
  EXPECT_EQ(draft_of(both).match.source, DraftSource::context);
  const Draft history = draft_of({{1, 2, 3, 9, 0, 1, 2}, {{0, 1, 2, 5, 6}, {1, 2, 7}}});
  EXPECT_EQ(history.match.source, DraftSource::history);
  EXPECT_EQ(history.match.record, 0) << "a longer match in an older record";
  EXPECT_THAT(history.tokens, ElementsAre(5, 6)) << "it ends with its record";
}

TEST(Drafting, goes_on_with_itself_where_the_context_ends) {
  EXPECT_THAT(draft_of({{4, 1, 2, 3, 1, 2, 3}, {}, 8}).tokens, ElementsAre(1, 2, 3, 1, 2, 3, 1, 2));
  EXPECT_THAT(draft_of({{6, 6}, {}, 3}).tokens, ElementsAre(6, 6, 6));
}

TEST(Drafting, ends_with_the_end_of_a_text) {
  EXPECT_THAT(draft_of({{1, 2, 0, 5, 1}, {}, 8, 1, 0}).tokens, ElementsAre(2, 0));
  EXPECT_THAT(draft_of({{9, 1}, {{1, 2, 0, 5}}, 8, 1, 0}).tokens, ElementsAre(2, 0));
}

TEST(Drafting, wants_a_match_of_the_least_length) {
  Case two{{1, 2, 3, 9, 1, 2}, {}, 4, 2};
  EXPECT_EQ(draft_of(two).tokens.size(), 4u);
  two.match_min = 3;
  const Draft none = draft_of(two);
  EXPECT_THAT(none.tokens, IsEmpty());
  EXPECT_EQ(none.match.source, DraftSource::none);
  EXPECT_THAT(draft_of({{1, 2, 3}}).tokens, IsEmpty()) << "nothing stood before";
  EXPECT_THAT(draft_of({{}}).tokens, IsEmpty());
  EXPECT_EQ(draft_of({{1, 1}, {}, 0}).match.source, DraftSource::none) << "a draft of no tokens";
}

TEST(PromptLookup, takes_the_first_place_that_has_all_tokens_behind_it) {
  // The last three tokens stand at 0. Two tokens stand behind them before the end of the text does.
  const Draft three = draft_of({{1, 2, 3, 7, 8, 1, 2, 3}, {}, 5}, DraftRule::pld);
  EXPECT_EQ(three.match.length, 3);
  EXPECT_THAT(three.tokens, ElementsAre(7, 8, 1, 2, 3));
  EXPECT_THAT(draft_of({{1, 2, 3, 7, 8, 1, 2, 3}, {}, 6}, DraftRule::pld).tokens, IsEmpty());
  // Three tokens stand too near the end, but two of them stand earlier as well.
  const Draft two = draft_of({{2, 3, 4, 5, 6, 1, 2, 3, 9, 1, 2, 3}, {}, 5}, DraftRule::pld);
  EXPECT_EQ(two.match.length, 2);
  EXPECT_THAT(two.tokens, ElementsAre(4, 5, 6, 1, 2));
}

TEST(PromptLookup, has_no_history) {
  EXPECT_THAT(draft_of({{1, 2}, {{1, 2, 3, 4}}, 2}, DraftRule::pld).tokens, IsEmpty());
}

TEST(SuffixAutomatonBaseline, takes_the_first_place_and_ends_with_its_source) {
  const Draft draft = draft_of({{2, 3, 7, 2, 3, 8, 2, 3}, {}, 40}, DraftRule::sam);
  EXPECT_EQ(draft.match.end, 1);
  EXPECT_THAT(draft.tokens, ElementsAre(7, 2, 3, 8, 2, 3));
}

TEST(SuffixAutomatonBaseline, wants_a_record_to_match_more_than_five_tokens_longer) {
  const Tokens record{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(draft_of({{9, 1, 2, 3, 4, 5}, {record}}, DraftRule::sam).tokens, IsEmpty());
  EXPECT_THAT(draft_of({{9, 1, 2, 3, 4, 5, 6}, {record}}, DraftRule::sam).tokens, ElementsAre(7, 8));
  // Here one token matches in the context, so six in the history are not enough.
  EXPECT_THAT(draft_of({{6, 9, 1, 2, 3, 4, 5, 6}, {record}, 3}, DraftRule::sam).tokens, ElementsAre(9, 1, 2));
}

// The rules once more, as plainly as they are written, on many random contexts.
TEST(Drafting, agrees_with_its_rules_on_random_contexts) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    Case given;
    const int32_t vocabulary = 1 + static_cast<int32_t>(random() % 5);
    given.context = testing::random_tokens(random, 30, vocabulary);
    for (uint32_t records = random() % 4; records > 0; --records)
      given.history.push_back(testing::random_tokens(random, 15, vocabulary));
    given.max = random() % 12;
    given.match_min = 1 + random() % 3;
    const Tokens& context = given.context;

    const auto here = testing::slow_match(context, std::ssize(context) - 1, context);
    Match expected{here.length > 0 ? DraftSource::context : DraftSource::none, here.length, -1, here.last_end};
    for (int64_t r = 0; r < std::ssize(given.history); ++r) {
      const Tokens& record = given.history[static_cast<size_t>(r)];
      const auto found = testing::slow_match(record, std::ssize(record) - 1, context);
      const bool better = found.length > expected.length ||
                          (found.length == expected.length && expected.source == DraftSource::history);
      if (found.length > 0 && better) expected = {DraftSource::history, found.length, r, found.last_end};
    }
    Tokens tokens;
    if (expected.length >= given.match_min) {
      Tokens source = expected.source == DraftSource::context ? context : given.history[size_t(expected.record)];
      for (size_t place = size_t(expected.end) + 1; std::ssize(tokens) < given.max && place < source.size(); ++place) {
        tokens.push_back(source[place]);
        if (expected.source == DraftSource::context) source.push_back(source[place]);  // as if it were written
      }
    }
    const Draft draft = draft_of(given);
    ASSERT_EQ(draft.tokens, tokens) << round;
    if (tokens.empty()) continue;
    ASSERT_EQ(draft.match.source, expected.source) << round;
    ASSERT_EQ(draft.match.length, expected.length) << round;
    ASSERT_EQ(draft.match.record, expected.record) << round;
    ASSERT_EQ(draft.match.end, expected.end) << round;
  }
}

}  // namespace
}  // namespace tandem
