// Thoughts and answers.
#include "engine/serve/openai/thoughts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/serve/openai/cuts.h"

namespace tandem::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ReplyParts in_one(const std::string& text, bool begun = false) {
  return read_in_pieces(Thoughts(begun), text, [&] { return text.size(); });
}

TEST(Thoughts, stand_between_marks_without_the_blanks_beside) {
  EXPECT_THAT(in_one("<think>\nHm, 2?\n</think>\n\nFour."), ElementsAre(thought("Hm, 2?"), content("Four.")));
  EXPECT_THAT(in_one("\n<think>a b</think>c d\n"), ElementsAre(thought("a b"), content("c d\n")));
}

TEST(Thoughts, begin_with_the_text_or_with_the_prompt) {
  EXPECT_THAT(in_one("Fine <think>x</think>"), ElementsAre(content("Fine <think>x</think>")));
  EXPECT_THAT(in_one("Hm.</think>Four.", true), ElementsAre(thought("Hm."), content("Four.")));
  EXPECT_THAT(in_one("no mark </think> here"), ElementsAre(content("no mark </think> here")));
  EXPECT_TRUE(ends_in_thoughts("<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(ends_in_thoughts("<think>\n\n</think>\n\n"));
  EXPECT_FALSE(ends_in_thoughts(""));
}

TEST(Thoughts, end_once) {
  EXPECT_THAT(in_one("<think>a</think>b</think>c<think>d"), ElementsAre(thought("a"), content("b</think>c<think>d")));
}

TEST(Thoughts, that_are_cut_off_are_thoughts_with_all_their_blanks) {
  EXPECT_THAT(in_one("<think>a \n"), ElementsAre(thought("a \n")));
  EXPECT_THAT(in_one("<think>a</thi"), ElementsAre(thought("a</thi")));
  EXPECT_THAT(in_one("<thi"), ElementsAre(content("<thi")));
}

TEST(Thoughts, may_be_empty_and_so_may_answers) {
  EXPECT_THAT(in_one("<think>\n\n</think>\n\nYes"), ElementsAre(content("Yes")));
  EXPECT_THAT(in_one("<think>a</think>\n"), ElementsAre(thought("a")));
  EXPECT_THAT(in_one(""), IsEmpty());
  EXPECT_THAT(in_one(" \n"), ElementsAre(content(" \n")));
}

TEST(Thoughts, are_handed_over_as_soon_as_they_are_certain) {
  Thoughts thoughts(false);
  EXPECT_THAT(thoughts.push("<think>ab <"), ElementsAre(thought("ab")));
  EXPECT_THAT(thoughts.push("c"), ElementsAre(thought(" <c")));
  EXPECT_THAT(thoughts.push("</think>x"), ElementsAre(content("x")));
  EXPECT_THAT(thoughts.push(" "), ElementsAre(content(" ")));
}

}  // namespace
}  // namespace tandem::serve
