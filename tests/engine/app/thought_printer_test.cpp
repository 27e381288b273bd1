// Thoughts of an answer on a terminal: dimmed from mark to mark, however the text is cut into pieces.
#include "engine/app/commands/text/thought_printer.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem::app {
namespace {

const std::string kDim = "\x1b[2m", kNormal = "\x1b[0m";

std::string printed(const std::string& text, size_t piece, bool dims = true, bool in_thought = false) {
  std::string all;
  ThoughtPrinter printer(dims, [&all](std::string_view part) { all += part; });
  printer.begin(in_thought);
  for (size_t at = 0; at < text.size(); at += piece) printer.print(std::string_view(text).substr(at, piece));
  printer.end();
  return all;
}

TEST(ThoughtPrinter, dims_thoughts_in_whatever_pieces_they_come) {
  const std::string text = "a<<think>b < c</think>d<thin";
  for (size_t piece = 1; piece <= text.size(); ++piece)
    EXPECT_EQ(printed(text, piece), "a<" + kDim + "<think>b < c</think>" + kNormal + "d<thin") << piece;
}

TEST(ThoughtPrinter, begins_in_thoughts_that_the_prompt_has_opened_and_ends_what_is_open) {
  EXPECT_EQ(printed("b</think>c", 3, true, true), kDim + "b</think>" + kNormal + "c");
  EXPECT_EQ(printed("b", 1, true, true), kDim + "b" + kNormal);
  EXPECT_EQ(printed("<think>", 2), kDim + "<think>" + kNormal);
  EXPECT_EQ(printed("a</think>b", 4), "a</think>b") << "nothing was open";
}

TEST(ThoughtPrinter, hands_over_at_once_what_cannot_be_a_mark) {
  std::string all;
  ThoughtPrinter printer(true, [&all](std::string_view part) { all += part; });
  printer.print("1 < 2");
  EXPECT_EQ(all, "1 < 2");
  printer.print("<th");
  EXPECT_EQ(all, "1 < 2");
}

TEST(ThoughtPrinter, writes_a_file_what_the_model_wrote) {
  EXPECT_EQ(printed("a<think>b</think>c", 2, false), "a<think>b</think>c");
  EXPECT_EQ(printed("b</think>c", 2, false, true), "b</think>c");
}

}  // namespace
}  // namespace tandem::app
