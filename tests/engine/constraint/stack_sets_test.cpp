#include "engine/constraint/automaton/stack_sets.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/constraint/text/gbnf.h"

namespace tandem::constraint {
namespace {

ByteSet all_bytes() {
  ByteSet all;
  all.fill(true);
  return all;
}

class Grammar {
 public:
  explicit Grammar(const std::string& text)
      : locals(trimmed(parse_gbnf(text, "a test"), all_bytes(), "a test")), stacks(locals) {}
  SetId behind(const std::string& text) {
    SetId set = stacks.begin();
    for (const char c : text) set = stacks.step(set, static_cast<uint8_t>(c));
    return set;
  }
  LocalStates locals;
  StackSets stacks;
};

// After n letters a the text has 2^n readings, one for each choice of x or y. They share their frames.
TEST(StackSets, of_an_ambiguous_grammar_stay_small) {
  Grammar grammar("root ::= \"a\" root \"x\" | \"a\" root \"y\" | \"\"");
  const SetId deep = grammar.behind(std::string(400, 'a'));
  EXPECT_LE(grammar.stacks.entries(deep).size(), 3u);
  EXPECT_LE(grammar.stacks.nodes(), 1300);
  EXPECT_TRUE(
      grammar.stacks.may_end(grammar.behind(std::string(400, 'a') + std::string(200, 'x') + std::string(200, 'y'))));
}

TEST(StackSets, have_one_number_for_equal_stacks) {
  Grammar grammar("root ::= item (\",\" item)*\nitem ::= \"x\" | \"(\" root \")\"");
  EXPECT_EQ(grammar.behind("x"), grammar.behind("x,x"));
  EXPECT_EQ(grammar.behind("(x"), grammar.behind("x,(x,x"));
  EXPECT_NE(grammar.behind("(x"), grammar.behind("((x"));
}

TEST(StackSets, need_no_deeper_stack_for_a_call_at_the_end) {
  Grammar grammar("root ::= \"a\" root | \"b\"");
  EXPECT_EQ(grammar.behind("a"), grammar.behind(std::string(1000, 'a')));
}

// `b` may be empty in two ways, and is followed by itself.
TEST(StackSets, step_over_rules_that_may_be_empty) {
  Grammar grammar("root ::= b b \"x\" b\nb ::= \"b\"? c\nc ::= \"c\"*");
  for (const char* good : {"x", "bx", "bbx", "bcbccxbc", "cx", "xc"})
    EXPECT_TRUE(grammar.stacks.may_end(grammar.behind(good))) << good;
  for (const char* bad : {"bbbx", "", "xbb"}) EXPECT_FALSE(grammar.stacks.may_end(grammar.behind(bad))) << bad;
}

TEST(StackSets, are_taken_from_another_object) {
  Grammar grammar("root ::= \"(\" root \")\" | \"x\"");
  const SetId set = grammar.behind("((((");
  StackSets fresh(grammar.locals);
  SetId copy = fresh.taken_from(grammar.stacks, set);
  EXPECT_LT(fresh.sets(), grammar.stacks.sets());
  for (const char c : std::string("(x)))))")) copy = fresh.step(copy, static_cast<uint8_t>(c));
  EXPECT_TRUE(fresh.may_end(copy));
}

TEST(StackSets, count_the_plain_characters_that_may_follow) {
  Grammar endless("root ::= \"<\" [^\"\\\\\\x00-\\x1F]* \">\"");
  EXPECT_EQ(endless.stacks.plain_run(endless.behind("<")), 0);  // > leads elsewhere
  Grammar text("root ::= \"'\" [^\"\\\\\\x00-\\x1F]* \"\\\"\"");
  EXPECT_EQ(text.stacks.plain_run(text.behind("'")), kEndlessRun);
  Grammar counted("root ::= \"'\" [^\"\\\\\\x00-\\x1F]{0,5} \"\\\"\"");
  EXPECT_EQ(counted.stacks.plain_run(counted.behind("'")), 5);
  EXPECT_EQ(counted.stacks.plain_run(counted.behind("'a\u4f60")), 3);
  Grammar letters("root ::= \"'\" [a-z ]* \"\\\"\"");
  EXPECT_EQ(letters.stacks.plain_run(letters.behind("'")), 0);
}

// No token of its own: the lead byte of U+40000 to U+7FFFF. Characters that nobody can write need not be looked at.
TEST(StackSets, count_plain_characters_of_usable_bytes_alone) {
  ByteSet usable;
  usable.fill(true);
  usable[0xF1] = usable[0xE0] = false;
  LocalStates locals(
      trimmed(parse_gbnf("root ::= \"'\" [^\"\\\\\\x00-\\x1F]{0,5} \"\\\"\"", "a test"), usable, "a test"));
  StackSets stacks(locals);
  EXPECT_EQ(stacks.plain_run(stacks.step(stacks.begin(), '\'')), 5);
}

}  // namespace
}  // namespace tandem::constraint
