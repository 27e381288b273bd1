#include "engine/run/generate.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

std::string feed(StopMatcher& matcher, std::initializer_list<const char*> pieces) {
  std::string out;
  for (const char* piece : pieces) out += matcher.push(piece);
  return out;
}

TEST(StopMatcher, passes_text_on_when_there_is_nothing_to_stop_at) {
  StopMatcher matcher({});
  EXPECT_EQ(feed(matcher, {"a", "bc"}), "abc");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, never_lets_a_part_of_a_stop_string_through) {
  StopMatcher matcher({"<end>"});
  EXPECT_EQ(matcher.push("x<"), "x");
  EXPECT_EQ(matcher.push("en"), "");
  EXPECT_EQ(matcher.push("d>y"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.flush(), "") << "what follows the stop string is not text";
}

TEST(StopMatcher, lets_go_of_what_turns_out_to_be_something_else) {
  StopMatcher matcher({"<end>"});
  EXPECT_EQ(feed(matcher, {"<e", "gg>", "<"}), "<egg>");
  EXPECT_EQ(matcher.flush(), "<");
}

TEST(StopMatcher, stops_at_the_first_of_several_strings) {
  StopMatcher matcher({"bb", "a"});
  EXPECT_EQ(matcher.push("xxaxbb"), "xx");
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, finds_a_stop_string_that_begins_with_its_own_beginning) {
  StopMatcher matcher({"aab"});
  EXPECT_EQ(feed(matcher, {"a", "a", "a", "b"}), "a");
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, ignores_an_empty_stop_string) {
  StopMatcher matcher({""});
  EXPECT_EQ(matcher.push("text"), "text");
}

}  // namespace
}  // namespace tandem
