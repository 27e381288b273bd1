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
