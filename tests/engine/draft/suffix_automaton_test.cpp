// S3: the suffix automaton, beside a search of every place.
#include "engine/draft/suffix_automaton.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/engine/draft/slow_matches.h"

namespace tandem {
namespace {

using testing::random_tokens;
using testing::slow_match;
using testing::SlowMatch;

SuffixAutomaton automaton_of(std::span<const int32_t> tokens) {
  SuffixAutomaton automaton;
  for (const int32_t token : tokens) automaton.append(token);
  return automaton;
}

TEST(SuffixAutomaton, finds_what_the_text_said_before) {
  // 1 2 3 stands at 0 and at 4; the text ends with it.
  SuffixAutomaton text = automaton_of(std::vector<int32_t>{1, 2, 3, 9, 1, 2, 3, 8, 1, 2, 3});
  const int32_t state = text.repeated();
  EXPECT_EQ(text.length(state), 3);
  EXPECT_EQ(text.first_end(state), 2);
  EXPECT_EQ(text.last_end(state), 6);
  std::vector<int32_t> behind;
  text.for_each_next(state, [&](int32_t next) {
    behind.push_back(text.tokens()[static_cast<size_t>(text.last_end(next))]);
    return true;
  });
  EXPECT_EQ(behind, (std::vector<int32_t>{8, 9})) << "the newest first";
}

TEST(SuffixAutomaton, has_no_match_before_a_token_repeats) {
  SuffixAutomaton text;
  EXPECT_EQ(text.repeated(), SuffixAutomaton::kRoot);
  for (const int32_t token : {5, 6, 7}) {
    text.append(token);
    EXPECT_EQ(text.repeated(), SuffixAutomaton::kRoot) << token;
  }
  text.append(5);
  EXPECT_EQ(text.length(text.repeated()), 1);
}

TEST(SuffixAutomaton, agrees_with_a_search_of_every_place_at_every_token) {
  std::mt19937 random(7);
  for (int text_number = 0; text_number < 300; ++text_number) {
    const auto tokens = random_tokens(random, 60, 1 + static_cast<int32_t>(random() % 5));
    SuffixAutomaton text;
    for (size_t n = 0; n < tokens.size(); ++n) {
      text.append(tokens[n]);
      const auto read = std::span(tokens).first(n + 1);
      const SlowMatch expected = slow_match(read, static_cast<int64_t>(n), read);
      const int32_t state = text.repeated();
      ASSERT_EQ(text.length(state), expected.length);
      if (state == SuffixAutomaton::kRoot) continue;
      ASSERT_EQ(text.first_end(state), expected.first_end);
      ASSERT_EQ(text.last_end(state), expected.last_end);
      // Shorter ends of the text stand at the places of their own states.
      for (int32_t shorter = text.link(state); shorter > SuffixAutomaton::kRoot; shorter = text.link(shorter)) {
        const auto end = read.last(static_cast<size_t>(text.length(shorter)));
        ASSERT_EQ(text.last_end(shorter), slow_match(read, static_cast<int64_t>(n), end).last_end);
      }
    }
  }
}

TEST(SuffixAutomaton, lists_every_token_that_follows) {
  std::mt19937 random(8);
  for (int text_number = 0; text_number < 100; ++text_number) {
    const auto tokens = random_tokens(random, 40, 3);
    SuffixAutomaton text = automaton_of(tokens);
    for (int32_t state = text.repeated(); state > SuffixAutomaton::kRoot; state = text.link(state)) {
      const auto string = std::span(tokens).last(static_cast<size_t>(text.length(state)));
      std::map<int32_t, int> expected, found;
      for (size_t begin = 0; begin + string.size() < tokens.size(); ++begin)
        if (std::ranges::equal(std::span(tokens).subspan(begin, string.size()), string))
          expected[tokens[begin + string.size()]] = 1;
      text.for_each_next(state, [&](int32_t next) {
        const int32_t token = tokens[static_cast<size_t>(text.first_end(next))];
        EXPECT_EQ(text.next(state, token), next);
        ++found[token];
        return true;
      });
      ASSERT_EQ(found, expected);
    }
  }
}

TEST(SuffixAutomaton, of_equal_tokens_is_as_long_as_the_text) {
  SuffixAutomaton text;
  for (int n = 0; n < 100000; ++n) text.append(4);
  EXPECT_EQ(text.length(text.repeated()), 99999);
  EXPECT_EQ(text.last_end(text.repeated()), 99998);
  EXPECT_LE(text.bytes(), 100 * 100000u);
}

TEST(SuffixAutomaton, takes_less_than_100_bytes_for_each_token_of_a_text_that_repeats_itself) {
  std::mt19937 random(9);
  std::vector<int32_t> text(3000);
  for (int32_t& token : text) token = static_cast<int32_t>(random() % 2000);
  SuffixAutomaton automaton;
  for (size_t n = 0; n < 50000; ++n)
    automaton.append(random() % 20 ? text[n % text.size()] : static_cast<int32_t>(random() % 49000));
  EXPECT_LE(automaton.bytes(), 100 * 50000u);
}

}  // namespace
}  // namespace tandem
