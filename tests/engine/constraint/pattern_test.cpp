#include "engine/constraint/text/pattern.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>

#include "sync/error.h"

namespace tandem::constraint {
namespace {

bool matches(const std::string& pattern, const std::string& text) {
  return accepts(parse_pattern(pattern, "a test"), *characters_of(text));
}

// The library's regex_search has the same notation, for ASCII.
TEST(Pattern, matches_what_the_standard_library_finds) {
  const char* patterns[] = {"^a$",
                            "a",
                            "^a",
                            "b$",
                            "^(ab|c)*$",
                            "^a{2,3}$",
                            "^[a-c]+d?$",
                            "^[^a]*$",
                            "a|^b$",
                            "^\\d+-\\w*$",
                            "^(a|b){2}c$",
                            "^(?:a(b(c)?)?)$",
                            "^a.c$",
                            "^$",
                            "",
                            "(^a$)|(^b+$)",
                            "^a*?b+?$",
                            "^\\.\\*$",
                            "^[\\d\\-x]+$",
                            "^[a-]+$",
                            "^(a{0}b)$",
                            "^((a?){3}){2}$",
                            "ab|cd",
                            "^\\x61\\u0062$"};
  std::mt19937 random(5);
  for (const char* pattern : patterns) {
    const std::regex other(pattern, std::regex::ECMAScript);
    const CharAutomaton automaton = parse_pattern(pattern, "a test");
    for (int i = 0; i < 2000; ++i) {
      std::string text;
      for (uint32_t n = random() % 7; n > 0; --n) text += "abcd1-.x*"[random() % 9];
      ASSERT_EQ(accepts(automaton, *characters_of(text)), std::regex_search(text, other)) << pattern << " on " << text;
    }
  }
}

TEST(Pattern, counts_characters_and_not_bytes) {
  EXPECT_TRUE(matches("^.{2}$", "é你"));
  EXPECT_FALSE(matches("^.$", "\n"));
  EXPECT_TRUE(matches("^[^a]$", "\n"));
  EXPECT_TRUE(matches("^\\u{1F600}$", "😀"));
  EXPECT_TRUE(matches("^\\uD83D\\uDE00$", "😀"));
  EXPECT_TRUE(matches("^[à-ü]+$", "éè"));
  EXPECT_TRUE(matches("^\\s$", "\u3000"));
}

TEST(Pattern, refuses_what_it_does_not_know_by_name_and_place) {
  const std::pair<const char*, const char*> cases[] = {{"a(?=b)", "look-ahead"},
                                                       {"(?<!a)b", "look-behind"},
                                                       {"(a)\\1", "back reference"},
                                                       {"\\bword", "\\b"},
                                                       {"\\p{L}", "\\p"},
                                                       {"a^b", "^ or $ inside"},
                                                       {"(a", "group without an end"},
                                                       {"a)", "nothing opens"},
                                                       {"[a", "class without"},
                                                       {"[b-a]", "swapped"},
                                                       {"a{3,1}", "numbers fall"},
                                                       {"*a", "nothing stands before"},
                                                       {"a**", "after another"},
                                                       {"a{1000000}", "above"},
                                                       {"\\", "at the end"},
                                                       {"\\uD800", "half a character"},
                                                       {"(?i)a", "unknown kind"},
                                                       {"x{", "no repetition"},
                                                       {"\\01", "octal"}};
  for (const auto& [pattern, words] : cases) {
    try {
      parse_pattern(pattern, "#/pattern");
      ADD_FAILURE() << pattern;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << pattern << ": " << error.what();
      EXPECT_NE(std::string(error.what()).find("#/pattern"), std::string::npos);
    }
  }
}

// Forms that make other engines take exponential time or memory.
TEST(Pattern, of_a_catastrophic_form_is_quick_or_refused) {
  EXPECT_TRUE(matches("^(a+)+$", std::string(2000, 'a')));
  EXPECT_FALSE(matches("^(a|a)*b$", std::string(2000, 'a')));
  EXPECT_TRUE(matches("(x+x+)+y", std::string(2000, 'x') + "y"));
  for (const char* pattern : {"((a{1000}){1000}){1000}", "(((){9999}){9999}){9999}", "(a?){9999}", "^([a-z]?){5000}$"})
    EXPECT_THROW(parse_pattern(pattern, "a test"), Error) << pattern;
  EXPECT_THROW(parse_pattern(std::string(100'000, '('), "a test"), Error);
}

TEST(Pattern, has_a_product_with_a_length) {
  const CharAutomaton some = both(parse_pattern("^[ab]*c$", "a test"), of_length(2, 3), "a test");
  for (const char* good : {"ac", "abc"}) EXPECT_TRUE(accepts(some, *characters_of(good))) << good;
  for (const char* bad : {"c", "aabc", "ab"}) EXPECT_FALSE(accepts(some, *characters_of(bad))) << bad;
}

}  // namespace
}  // namespace tandem::constraint
