#include "engine/constraint/text/gbnf.h"

#include <gtest/gtest.h>

#include <string>

#include "sync/error.h"
#include "tests/engine/constraint/toy_tokenizer.h"
#include "tests/engine/constraint/walks.h"

namespace tandem {
namespace {

class Gbnf : public ::testing::Test {
 protected:
  bool takes(const std::string& grammar, const std::string& text) {
    return testing::takes(*maker_.grammar(grammar), tokenizer_, text);
  }
  std::string refusal(const std::string& grammar) {
    try {
      maker_.grammar(grammar, "g.gbnf");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  testing::ToyTokenizer tokenizer_;
  ConstraintMaker maker_{tokenizer_};
};

TEST_F(Gbnf, has_texts_alternatives_groups_and_rules) {
  const std::string grammar =
      "# a comment\nroot ::= greeting \" \" (\"you\" | \"all\" \"!\")  # another\ngreeting ::= \"hi\" |\n  \"hello\"\n";
  for (const char* good : {"hi you", "hello all!"}) EXPECT_TRUE(takes(grammar, good)) << good;
  for (const char* bad : {"hi", "hi all", "hello you!", "hi  you", ""}) EXPECT_FALSE(takes(grammar, bad)) << bad;
}

TEST_F(Gbnf, has_repetitions) {
  EXPECT_TRUE(takes("root ::= \"a\"* \"b\"+ \"c\"?", "b"));
  EXPECT_TRUE(takes("root ::= \"a\"* \"b\"+ \"c\"?", "aaabbc"));
  EXPECT_FALSE(takes("root ::= \"a\"* \"b\"+ \"c\"?", "aacc"));
  for (int n = 0; n < 8; ++n) {
    const std::string text(static_cast<size_t>(n), 'x');
    EXPECT_EQ(takes("root ::= \"x\"{3}", text), n == 3);
    EXPECT_EQ(takes("root ::= \"x\"{2,}", text), n >= 2);
    EXPECT_EQ(takes("root ::= \"x\"{2,5}", text), n >= 2 && n <= 5);
    EXPECT_EQ(takes("root ::= \"x\"{ 0 , 5 }", text), n <= 5);
    EXPECT_EQ(takes("root ::= (\"x\" \"x\")*", text), n % 2 == 0);
  }
}

TEST_F(Gbnf, has_classes_of_characters) {
  EXPECT_TRUE(takes("root ::= [a-cx]+", "abxc"));
  EXPECT_FALSE(takes("root ::= [a-cx]+", "ad"));
  EXPECT_TRUE(takes("root ::= [^a-c\\n]+", "xé你😀"));
  EXPECT_FALSE(takes("root ::= [^a-c\\n]+", "x\n"));
  EXPECT_TRUE(takes("root ::= [à-ü\\u4e00-\\u9fff]+", "é你"));
  EXPECT_FALSE(takes("root ::= .", "\xC3"));  // half a character
  EXPECT_TRUE(takes("root ::= . .", "é\n"));
  EXPECT_TRUE(takes("root ::= [\\]\\[a-]+", "a-[]"));
}

TEST_F(Gbnf, has_escapes) { EXPECT_TRUE(takes(R"(root ::= "\n\t\r\"\\\x41\u00e9\U0001F600")", "\n\t\r\"\\Aé😀")); }

TEST_F(Gbnf, may_be_recursive) {
  const std::string balanced = "root ::= \"(\" root \")\" root | \"\"";
  EXPECT_TRUE(takes(balanced, "(()())()"));
  EXPECT_FALSE(takes(balanced, "(()"));
  EXPECT_FALSE(takes(balanced, "())"));
  const std::string deep = std::string(3000, '(') + std::string(3000, ')');
  EXPECT_TRUE(takes(balanced, deep));
  EXPECT_TRUE(takes("root ::= item | item \",\" root\nitem ::= [0-9]+", "1,22,333"));
}

TEST_F(Gbnf, refuses_left_recursion_and_names_the_rules) {
  const std::string why = refusal("root ::= list\nlist ::= list \",\" item | item\nitem ::= \"x\"");
  EXPECT_NE(why.find("list -> list"), std::string::npos) << why;
  EXPECT_NE(refusal("root ::= a\na ::= \"\" b\nb ::= \"x\"* a \"y\" | \"z\"").find("a -> b -> a"), std::string::npos);
}

TEST_F(Gbnf, of_an_endless_rule_satisfies_nothing) {
  EXPECT_NE(refusal("root ::= \"a\" root").find("no text can satisfy"), std::string::npos);
}

TEST_F(Gbnf, names_line_and_column_of_what_it_cannot_read) {
  const std::pair<const char*, const char*> cases[] = {{"root ::= \"a\n", "line 1, column 10"},
                                                       {"root ::= (\"a\"", "column 14"},
                                                       {"root ::= \"a\" )", "column 14"},
                                                       {"root := \"a\"", "column 6"},
                                                       {"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1"},
                                                       {"root ::= other", "column 10"},
                                                       {"a ::= \"x\"", "rule root is missing"},
                                                       {"root ::= [z-a]", "swapped"},
                                                       {"root ::= \"\\q\"", "escape \\q"},
                                                       {"root ::= \"a\"{3,1}", "fall"},
                                                       {"root ::= \"\\u12\"", "4 hexadecimal digits"},
                                                       {"root ::= <token>", "not known"},
                                                       {"root ::= *", "expected here"},
                                                       {"", "rule root is missing"},
                                                       {"root ::= []", "without characters"},
                                                       {"root ::= \"a\"{99999999}", "above"},
                                                       {"root ::= \"\xff\"", "UTF-8"},
                                                       {"root ::= \"\\ud800\"", "no character"}};
  for (const auto& [grammar, words] : cases)
    EXPECT_NE(refusal(grammar).find(words), std::string::npos) << grammar << ": " << refusal(grammar);
}

TEST_F(Gbnf, that_is_too_large_or_too_deep_is_refused) {
  EXPECT_NE(refusal("root ::= " + std::string(5000, '(')).find("nested too deep"), std::string::npos);
  EXPECT_NE(refusal("root ::= (((\"x\"{1000}){1000}){1000}){1000}").find("too large"), std::string::npos);
  EXPECT_NE(refusal("root ::= (((\"\"{1000}){1000}){1000}){1000}").find("too large"), std::string::npos);
  EXPECT_NE(refusal("root ::= \"x\"" + std::string(10000, '*')).find("too many"), std::string::npos);
}

}  // namespace
}  // namespace tandem
