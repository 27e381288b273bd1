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

// The tokens behind all places of a match of this length.
Tokens slow_followers(const std::vector<Tokens>& records, const Tokens& context, int32_t length) {
  Tokens behind;
  const std::span<const int32_t> match = std::span(context).last(static_cast<size_t>(length));
  for (const Tokens& record : records)
    for (size_t end = match.size(); end < record.size(); ++end)
      if (std::ranges::equal(std::span(record).subspan(end - match.size(), match.size()), match))
        behind.push_back(record[end]);
  return behind;
}

void expect_same(const Match& found, const Match& expected) {
  ASSERT_EQ(found.source, expected.source);
  ASSERT_EQ(found.length, expected.length);
  ASSERT_EQ(found.record, expected.record);
  ASSERT_EQ(found.end, expected.end);
}

// A match with many places is judged by some of them.
void expect_followers(Followers found, const Tokens& behind) {
  const bool same = std::ranges::count(behind, behind[0]) == std::ssize(behind);
  const Followers expected = behind.size() == 1 ? Followers::once : same ? Followers::same : Followers::different;
  if (expected != Followers::different || behind.size() <= 8) {
    ASSERT_EQ(found, expected);
  }
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

TEST(DraftHistory, knows_whether_all_places_of_a_match_go_on_alike) {
  DraftHistory history;
  HistoryMatcher matcher(history);
  const auto followers_of = [&](const Tokens& context) {
    matcher = HistoryMatcher(history);
    matcher.longest(context, Occurrence::last);
    return matcher.followers();
  };
  history.add(Tokens{1, 2, 3});
  EXPECT_EQ(followers_of({1, 2}), Followers::once);
  history.compact();
  EXPECT_EQ(followers_of({1, 2}), Followers::once);
  history.add(Tokens{9, 2, 3});  // beside the index
  EXPECT_EQ(followers_of({2}), Followers::same);
  EXPECT_EQ(followers_of({1, 2}), Followers::once) << "a longer match has one place";
  history.add(Tokens{9, 2, 4});
  EXPECT_EQ(followers_of({2}), Followers::different);
  history.compact();
  EXPECT_EQ(followers_of({2}), Followers::different);
  EXPECT_EQ(followers_of({9, 2}), Followers::different);
  history.add(Tokens{5, 6, 7});
  history.add(Tokens{5, 6});  // no token follows
  history.add(Tokens{8, 9});
  history.add(Tokens{8, 9, 1});
  EXPECT_EQ(followers_of({5, 6}), Followers::once);
  EXPECT_EQ(followers_of({8, 9}), Followers::once);
  history.compact();
  EXPECT_EQ(followers_of({5, 6}), Followers::once);
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
      expect_same(first.longest(context, Occurrence::first), slow_longest(records, context, Occurrence::first));
      const Match match = last.longest(context, Occurrence::last);
      expect_same(match, slow_longest(records, context, Occurrence::last));
      if (match.length == 0) continue;
      ASSERT_NO_FATAL_FAILURE(expect_followers(last.followers(), slow_followers(records, context, match.length)));
    }
  }
}

}  // namespace
}  // namespace tandem
