#include "engine/draft/draft_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/engine/draft/slow_matches.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using Tokens = std::vector<int32_t>;

Match match_of(DraftHistory& history, const Tokens& context, Occurrence which = Occurrence::last) {
  return HistoryMatcher(history).longest(context, which);
}

// D1 and D2 by the definition.
Match slow_longest(const std::vector<Tokens>& records, const Tokens& context, Occurrence which) {
  Match best;
  for (size_t r = 0; r < records.size(); ++r) {
    const auto found = testing::slow_match(records[r], std::ssize(records[r]) - 1, context);
    const bool better = which == Occurrence::last ? found.length >= best.length : found.length > best.length;
    if (found.length == 0 || !better) continue;
    best = {DraftSource::history, found.length, static_cast<int64_t>(r),
            which == Occurrence::last ? found.last_end : found.first_end};
  }
  return best;
}

void expect_same(const Match& found, const Match& expected) {
  ASSERT_EQ(found.source, expected.source);
  ASSERT_EQ(found.length, expected.length);
  ASSERT_EQ(found.record, expected.record);
  ASSERT_EQ(found.end, expected.end);
}

TEST(DraftHistory, keeps_its_records) {
  DraftHistory history;
  history.add(Tokens{1, 2});
  history.add(Tokens{});
  history.compact();
  history.add(Tokens{3});
  EXPECT_EQ(history.records(), 3);
  EXPECT_EQ(history.tokens(), 3);
  EXPECT_THAT(history.record(0), ElementsAre(1, 2));
  EXPECT_THAT(history.record(1), ElementsAre());
  EXPECT_THAT(history.record(2), ElementsAre(3));
}

TEST(DraftHistory, prefers_the_newest_record_and_its_last_place) {
  DraftHistory history;
  history.add(Tokens{1, 2, 3});
  history.add(Tokens{1, 2, 4, 1, 2, 5});
  history.add(Tokens{7, 1, 2});  // no token follows
  expect_same(match_of(history, {9, 1, 2}), {DraftSource::history, 2, 1, 4});
  expect_same(match_of(history, {9, 1, 2}, Occurrence::first), {DraftSource::history, 2, 0, 1});
  history.compact();
  expect_same(match_of(history, {9, 1, 2}), {DraftSource::history, 2, 1, 4});
  expect_same(match_of(history, {9, 1, 2}, Occurrence::first), {DraftSource::history, 2, 0, 1});
}

TEST(DraftHistory, matches_no_longer_end_whose_records_end_there) {
  DraftHistory history;
  history.add(Tokens{5, 2, 6});
  history.add(Tokens{1, 2});
  // 1 2 stands at a record's end alone; 2 is followed by 6.
  expect_same(match_of(history, {1, 2}), {DraftSource::history, 1, 0, 1});
}

// Records come while a context grows, and are indexed at any time.
TEST(DraftHistory, agrees_with_a_search_of_every_place) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const int32_t vocabulary = 1 + static_cast<int32_t>(random() % 4);
    DraftHistory history;
    std::vector<Tokens> records;
    HistoryMatcher last(history), first(history);
    Tokens context;
    for (int step = 0; step < 20; ++step) {
      if (random() % 3 == 0) {
        records.push_back(testing::random_tokens(random, 15, vocabulary));
        history.add(records.back());
      }
      if (random() % 9 == 0) history.compact();
      context.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(vocabulary)));
      expect_same(last.longest(context, Occurrence::last), slow_longest(records, context, Occurrence::last));
      expect_same(first.longest(context, Occurrence::first), slow_longest(records, context, Occurrence::first));
    }
  }
}

}  // namespace
}  // namespace tandem
