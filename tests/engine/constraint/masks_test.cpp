// Masks are made of parts that are found once for each local state. Here each is compared with the plain definition: a
// token may come if its bytes can be read one by one.
#include <gtest/gtest.h>

#include <string>

#include "engine/constraint/automaton/stack_sets.h"
#include "engine/constraint/constraint.h"
#include "engine/constraint/json/schema_rules.h"
#include "engine/constraint/text/gbnf.h"
#include "sync/error.h"
#include "tests/engine/constraint/toy_tokenizer.h"
#include "tests/engine/constraint/walks.h"

namespace tandem {
namespace {

using constraint::Automaton;
using constraint::Matcher;
using constraint::RuleNet;
using constraint::TokenTexts;

const char* const kSchemas[] = {
    "true",
    R"({"type": "object"})",
    R"({"type": "string", "maxLength": 5})",
    R"({"type": "string", "minLength": 2, "maxLength": 40})",
    R"({"type": "string", "pattern": "^[a-f ]{1,30}$"})",
    R"({"type": "array", "items": {"type": "integer", "minimum": -12, "maximum": 1250}, "minItems": 1, "maxItems": 4})",
    R"({"type": "object", "properties": {"name": {"type": "string"}, "na": {"type": "number"}, "é\"": {"enum": [1, "ab", null]}},
        "required": ["na"]})",
    R"({"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"type": "boolean"}}, "additionalProperties": {"type": "null"}})",
};
const char* const kGrammars[] = {
    "root ::= [a-e ]+ (\",\" [0-9]+)* \"\\n\"?",
    "root ::= \"{\" root \"}\" root | [^{}]{0,9}",
    "root ::= word | word \" \" root\nword ::= [^ ]+",
    "root ::= \"a\" root \"x\" | \"a\" root \"}\" | \"\"",
};

void compare_along_walks(const RuleNet& net, const testing::ToyTokenizer& tokenizer) {
  const auto tokens = std::make_shared<TokenTexts>(tokenizer);
  const auto automaton = std::make_shared<Automaton>(net, tokens, "a test");
  constraint::LocalStates locals(constraint::trimmed(net, tokens->bytes, "a test"));
  constraint::StackSets plain(locals);
  std::mt19937 random(11);
  for (int walk = 0; walk < 6; ++walk) {
    Matcher matcher(automaton);
    constraint::SetId set = plain.begin();
    for (int step = 0; step < 25 && !matcher.is_complete(); ++step) {
      std::vector<int32_t> expected;
      for (int32_t id = 0; id < tokenizer.size(); ++id) {
        constraint::SetId next = set;
        for (const char c : tokens->text(id)) next = plain.step(next, static_cast<uint8_t>(c));
        const bool ends = tokenizer.is_end(id);
        if (ends ? plain.may_end(set) : !tokens->text(id).empty() && next != constraint::kNoStack)
          expected.push_back(id);
      }
      ASSERT_EQ(testing::allowed_ids(matcher.mask(), tokenizer.size()), expected);
      std::erase(expected, tokenizer.eos());
      const int32_t id = expected[random() % expected.size()];
      ASSERT_TRUE(matcher.accept(id));
      for (const char c : tokens->text(id)) set = plain.step(set, static_cast<uint8_t>(c));
    }
  }
}

TEST(Masks, of_schemas_have_exactly_the_tokens_that_can_be_read) {
  const testing::ToyTokenizer tokenizer;
  for (const char* schema : kSchemas) {
    SCOPED_TRACE(schema);
    compare_along_walks(constraint::schema_rules(schema, "a test"), tokenizer);
  }
}

TEST(Masks, of_grammars_have_exactly_the_tokens_that_can_be_read) {
  const testing::ToyTokenizer tokenizer;
  for (const char* grammar : kGrammars) {
    SCOPED_TRACE(grammar);
    compare_along_walks(constraint::parse_gbnf(grammar, "a test"), tokenizer);
  }
}

TEST(Masks, allow_an_end_only_where_the_text_may_end) {
  const testing::ToyTokenizer tokenizer;
  const auto digits = ConstraintMaker(tokenizer).grammar("root ::= [0-9]+ \"x\"?");
  const auto matcher = digits->state().new_matcher();
  const int32_t seven = tokenizer.encode("7", {})[0], x = tokenizer.encode("x", {})[0];
  EXPECT_FALSE(testing::is_allowed(matcher->mask(), tokenizer.eos()));
  ASSERT_TRUE(matcher->accept(seven));
  EXPECT_TRUE(testing::is_allowed(matcher->mask(), tokenizer.eos()));
  EXPECT_FALSE(matcher->is_complete());
  ASSERT_TRUE(matcher->accept(x));
  EXPECT_TRUE(matcher->is_complete());
  EXPECT_FALSE(matcher->accept(x));
  const auto endless = digits->state().new_matcher(false);  // as with --ignore-eos
  ASSERT_TRUE(endless->accept(seven));
  EXPECT_FALSE(testing::is_allowed(endless->mask(), tokenizer.eos()));
}

TEST(Masks, that_were_prepared_are_those_that_are_made_later) {
  const testing::ToyTokenizer tokenizer;
  const auto form = ConstraintMaker(tokenizer).json_object();
  const auto prepared = form->state().new_matcher(), plain = form->state().new_matcher();
  const std::vector<int32_t> ids = tokenizer.encode("{\"a\":[1,{}]}", {});
  prepared->prepare(ids);
  prepared->prepare(tokenizer.encode("]]", {}));  // drafts that may not come end the preparation
  for (const int32_t id : ids) {
    ASSERT_TRUE(std::ranges::equal(prepared->mask(), plain->mask()));
    ASSERT_TRUE(prepared->accept(id));
    ASSERT_TRUE(plain->accept(id));
  }
}

// A vocabulary without some bytes cannot write some characters. It never gets stuck inside one.
TEST(Masks, have_no_dead_end_where_a_vocabulary_lacks_bytes) {
  const testing::ToyTokenizer tokenizer("\xA9\xBD\xA0x");
  const auto form = ConstraintMaker(tokenizer).json_schema(R"({"enum": ["é", "你", "y", {"x": 1}]})");
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(testing::written(*form, tokenizer, random, 100));  // throws at a dead end
  EXPECT_THROW(ConstraintMaker(tokenizer).json_schema(R"({"const": {"x": 1}})"), Error);
}

TEST(Masks, of_a_long_text_keep_their_memory_and_their_answers) {
  const testing::ToyTokenizer tokenizer;
  const auto form = ConstraintMaker(tokenizer).grammar("root ::= \"(\" root \")\" root | \"\"");
  const auto matcher = form->state().new_matcher();
  const int32_t open = tokenizer.encode("(", {})[0], close = tokenizer.encode(")", {})[0];
  for (int i = 0; i < 60'000; ++i) ASSERT_TRUE(matcher->accept(open));
  for (int i = 0; i < 60'000; ++i) ASSERT_TRUE(matcher->accept(close));
  EXPECT_TRUE(matcher->may_end());
  EXPECT_FALSE(matcher->accept(close));
}

}  // namespace
}  // namespace tandem
