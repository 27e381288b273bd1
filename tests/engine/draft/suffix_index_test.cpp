// S6: the index of texts that do not change, beside a search of every place.
#include "engine/draft/suffix_index.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/engine/draft/slow_matches.h"

namespace tandem {
namespace {

using testing::random_tokens;

// The best match among places that a token of the same record follows.
testing::SlowMatch expected_match(std::span<const int32_t> texts, std::span<const int32_t> context) {
  testing::SlowMatch best;
  for (int32_t end = 0; end + 1 < std::ssize(texts); ++end) {
    if (texts[static_cast<size_t>(end)] == kSeparator || texts[static_cast<size_t>(end) + 1] == kSeparator) continue;
    int32_t length = 0;
    while (length <= end && length < std::ssize(context) &&
           texts[static_cast<size_t>(end - length)] == context[context.size() - 1 - static_cast<size_t>(length)])
      ++length;
    if (length == 0 || length < best.length) continue;
    if (length > best.length) best = {length, end, end};
    best.last_end = end;
  }
  return best;
}

TEST(SuffixIndex, agrees_with_a_search_of_every_place) {
  std::mt19937 random(11);
  for (int round = 0; round < 1000; ++round) {
    const int32_t vocabulary = 1 + static_cast<int32_t>(random() % 4);
    SuffixAutomaton texts;
    for (uint32_t record = random() % 6; record > 0; --record) {
      for (const int32_t token : random_tokens(random, 20, vocabulary)) texts.append(token);
      texts.append(kSeparator);
    }
    const SuffixIndex index(texts);
    const auto context = random_tokens(random, 12, vocabulary);
    const auto expected = expected_match(index.tokens(), context);
    const SuffixIndex::Range found = index.longest_match(context);
    ASSERT_EQ(found.length, expected.length) << round;
    if (found.length == 0) continue;
    ASSERT_EQ(index.last_end(found), expected.last_end) << round;
    ASSERT_EQ(index.first_end(found), expected.first_end) << round;
  }
}

SuffixIndex index_of(std::span<const int32_t> texts) {
  SuffixAutomaton automaton;
  for (const int32_t token : texts) automaton.append(token);
  return SuffixIndex(automaton);
}

std::vector<int32_t> random_texts(std::mt19937& random, uint32_t texts, size_t most, int32_t vocabulary) {
  std::vector<int32_t> tokens;
  for (; texts > 0; --texts) {
    const auto text = random_tokens(random, most, vocabulary);
    tokens.insert(tokens.end(), text.begin(), text.end());
    tokens.push_back(kSeparator);
  }
  return tokens;
}

void expect_matches_of_every_place(const SuffixIndex& index, std::mt19937& random, int32_t vocabulary) {
  const auto context = random_tokens(random, 12, vocabulary);
  const auto expected = expected_match(index.tokens(), context);
  const SuffixIndex::Range found = index.longest_match(context);
  ASSERT_EQ(found.length, expected.length);
  if (found.length == 0) return;
  ASSERT_EQ(index.last_end(found), expected.last_end);
  ASSERT_EQ(index.first_end(found), expected.first_end);
}

TEST(SuffixIndex, that_texts_were_added_to_or_removed_from_agrees_with_a_search_of_every_place) {
  std::mt19937 random(17);
  for (int round = 0; round < 500; ++round) {
    const int32_t vocabulary = 1 + static_cast<int32_t>(random() % 4);
    std::vector<int32_t> texts = random_texts(random, random() % 12, 20, vocabulary);
    SuffixIndex index = index_of(texts);
    for (int step = 0; step < 6; ++step) {
      // Short texts are merged, long ones are sorted with all others.
      const auto more = random_texts(random, random() % 3, random() % 4 ? 8 : 80, vocabulary);
      texts.insert(texts.end(), more.begin(), more.end());
      index.append(more);
      if (random() % 4 == 0 && !texts.empty()) {
        const auto end = std::ranges::find(texts, kSeparator) + 1;
        index.remove_first(static_cast<size_t>(end - texts.begin()));
        texts.erase(texts.begin(), end);
      }
      ASSERT_TRUE(std::ranges::equal(index.tokens(), texts));
      ASSERT_NO_FATAL_FAILURE(expect_matches_of_every_place(index, random, vocabulary)) << round;
    }
  }
}

// Each of the added entries shares thousands of tokens with others.
TEST(SuffixIndex, takes_long_pieces_that_repeat) {
  std::vector<int32_t> piece(3000, 7), texts;
  piece.push_back(kSeparator);
  for (int copy = 0; copy < 5; ++copy) texts.insert(texts.end(), piece.begin(), piece.end());
  SuffixIndex index = index_of(texts);
  index.append(piece);
  const SuffixIndex::Range found = index.longest_match(std::vector<int32_t>(5000, 7));
  EXPECT_EQ(found.length, 2999) << "a token follows";
  EXPECT_EQ(found.end - found.begin, 6u);
  EXPECT_EQ(index.last_end(found), 5 * 3001 + 2998);
}

// The table by last tokens would take gigabytes, so there is none.
TEST(SuffixIndex, takes_ids_of_any_size) {
  constexpr int32_t kLarge = 2'000'000'000;
  const SuffixIndex index = index_of(std::vector<int32_t>{1, kLarge, 2, kLarge, 3, kSeparator});
  EXPECT_LT(index.bytes(), size_t{1} << 20);
  EXPECT_EQ(index.longest_match(std::vector<int32_t>{1, kLarge}).length, 2);
  EXPECT_EQ(index.longest_match(std::vector<int32_t>{kLarge - 1}).length, 0);
  EXPECT_EQ(index_of(std::vector<int32_t>{1, 2, kSeparator}).longest_match(std::vector<int32_t>{kLarge}).length, 0);
}

TEST(SuffixIndex, of_a_kept_order_has_each_place_once) {
  std::mt19937 random(3);
  const std::vector<int32_t> texts = {1, 2, 1, 3, kSeparator, kSeparator, 4, kSeparator, 2, 1, kSeparator};
  const SuffixIndex index = index_of(texts);
  const std::vector<int32_t> order(index.order().begin(), index.order().end());
  ASSERT_EQ(order.size(), 4u) << "places that a token of the same text follows";
  ASSERT_TRUE(SuffixIndex::of(texts, order));
  ASSERT_NO_FATAL_FAILURE(expect_matches_of_every_place(*SuffixIndex::of(texts, order), random, 3));
  for (size_t entry = 0; entry < order.size(); ++entry)
    for (int32_t value = -2; value < std::ssize(texts) + 2; ++value) {
      std::vector<int32_t> other = order;
      other[entry] = value;
      EXPECT_EQ(SuffixIndex::of(texts, other).has_value(), value == order[entry]) << value;
    }
  EXPECT_FALSE(SuffixIndex::of(texts, {order.begin(), order.end() - 1}));
  EXPECT_FALSE(SuffixIndex::of(texts, {}));
  EXPECT_FALSE(SuffixIndex::of({}, order));
  EXPECT_TRUE(SuffixIndex::of({}, {}));
}

// It may miss matches. It finds no place that does not exist.
TEST(SuffixIndex, of_an_order_that_is_not_sorted_finds_places_of_its_texts) {
  std::mt19937 random(5);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto texts = random_texts(random, random() % 6, 60, 3);
    const SuffixIndex sorted = index_of(texts);
    std::vector<int32_t> order(sorted.order().begin(), sorted.order().end());
    std::ranges::shuffle(order, random);
    const auto index = SuffixIndex::of(texts, order);
    ASSERT_TRUE(index);
    const SuffixIndex::Range range = index->longest_match(random_tokens(random, 12, 3));
    if (range.length == 0) continue;
    ++found;
    ASSERT_LT(range.begin, range.end);
    ASSERT_LE(range.end, order.size());
    ASSERT_NE(std::ranges::find(order, index->last_end(range)), order.end());
    ASSERT_NE(std::ranges::find(order, index->first_end(range)), order.end());
  }
  EXPECT_GT(found, 100);
}

TEST(SuffixIndex, finds_the_ends_of_a_range_of_many_blocks) {
  SuffixAutomaton texts;
  for (int n = 0; n < 1000; ++n) {
    texts.append(1);
    texts.append(2 + n);  // so that 1 alone matches, at every second place
  }
  const SuffixIndex index(texts);
  const SuffixIndex::Range range = index.longest_match(std::vector<int32_t>{5000, 1});
  EXPECT_EQ(range.length, 1);
  EXPECT_EQ(range.end - range.begin, 1000u);
  EXPECT_EQ(index.first_end(range), 0);
  EXPECT_EQ(index.last_end(range), 1998);
}

TEST(SuffixIndex, of_nothing_finds_nothing) {
  EXPECT_EQ(SuffixIndex().longest_match(std::vector<int32_t>{1}).length, 0);
  SuffixAutomaton text;
  text.append(1);
  EXPECT_EQ(SuffixIndex(text).longest_match(std::vector<int32_t>{1}).length, 0) << "no token follows";
  EXPECT_EQ(SuffixIndex(text).longest_match({}).length, 0);
}

TEST(SuffixIndex, takes_at_most_24_bytes_a_token) {
  SuffixAutomaton text;
  for (int n = 0; n < 10000; ++n) text.append(n % 700);
  EXPECT_LE(SuffixIndex(text).bytes(), 24 * 10000u);
}

}  // namespace
}  // namespace tandem
