// Calls of functions in the forms of models, among texts and thoughts.
#include "engine/serve/openai/reply_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/engine/serve/openai/cuts.h"

namespace tandem::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ReplyRules rules_of(const ToolForm& form, bool one_call = false) {
  return {.has_thoughts = true, .form = &form, .functions = {"f", "get_weather"}, .one_call = one_call};
}

ReplyParts answer(const ReplyRules& rules, const std::string& text) {
  return read_in_pieces(ReplyReader(rules), text, [&] { return text.size(); });
}

ReplyParts hermes(const std::string& text) { return answer(rules_of(kHermesForm), text); }
ReplyParts llama(const std::string& text) { return answer(rules_of(kLlama3Form), text); }
ReplyParts mistral(const std::string& text) { return answer(rules_of(kMistralForm), text); }

TEST(ReplyReader, knows_the_form_of_a_template) {
  EXPECT_EQ(form_of_template("... <tool_call> ..."), &kHermesForm);
  EXPECT_EQ(form_of_template("... <|python_tag|> ..."), &kLlama3Form);
  EXPECT_EQ(form_of_template("... [TOOL_CALLS] ..."), &kMistralForm);
  EXPECT_EQ(form_of_template("{{ messages }}"), nullptr);
}

TEST(ReplyReader, takes_calls_between_the_marks_of_hermes) {
  EXPECT_THAT(hermes("I look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n"
                     "<tool_call>{\"name\":\"g\"}</tool_call>\nDone."),
              ElementsAre(content("I look."), call_of("f", "{\"a\": 1}"), call_of("g", "{}"), content("Done.")));
  EXPECT_THAT(hermes("<tool_call>{\"name\":\"f\"}"), ElementsAre(call_of("f", "{}"))) << "the end mark may be absent";
  EXPECT_THAT(hermes("<tool_call>{\"name\":\"f\"} x"), ElementsAre(call_of("f", "{}"), content("x")));
}

TEST(ReplyReader, leaves_each_byte_of_what_is_no_call) {
  for (const char* text :
       {"a  <tool_call>\n oops </tool_call> b", "a <tool_call> {\"name\": } </tool_call>", "<tool_call>", "x <tool_c",
        "<tool_call> \n", "<tool_call>{\"name\":\"f\",\"arg", "<tool_call><tool_call>{", "", "a  "})
    EXPECT_EQ(hermes(text), *text ? ReplyParts{content(text)} : ReplyParts{}) << text;
  for (const char* text : {"{\"name\":\"h\"}", "  {\"a\": 1} ; x", "<|python_tag|>print(1)", "<|python",
                           "{\"name\": \"f\"", "Look: {\"name\":\"f\"}", "<|python_tag|> "})
    EXPECT_EQ(llama(text), ReplyParts{content(text)}) << text;
  for (const char* text : {"[1, 2]", "[{\"name\":\"h\"}]", " [ {\"name\":\"f\"}", "a [TOOL_CALLS] [7] b",
                           "[TOOL_CALLS]", "[TOOL_CALLS]h{\"a\":1}", "[TOOL_CALLS]f[ARGS]{\"a\":", "[TOOL_CALLS]f",
                           "[TOOL", "  x ", "[{\"name\":\"f\"},{\"name\":\"h\"}]"})
    EXPECT_EQ(mistral(text), ReplyParts{content(text)}) << text;
}

TEST(ReplyReader, takes_calls_that_are_the_whole_answer_of_llama) {
  EXPECT_THAT(llama("{\"name\": \"f\", \"parameters\": {\"a\": \"b\"}}"), ElementsAre(call_of("f", "{\"a\": \"b\"}")));
  EXPECT_THAT(llama("<|python_tag|>{\"name\":\"f\"}; {\"name\":\"get_weather\"}\n"),
              ElementsAre(call_of("f", "{}"), call_of("get_weather", "{}")));
  EXPECT_THAT(llama("{\"name\":\"f\"} and"), ElementsAre(call_of("f", "{}"), content(" and")));
}

TEST(ReplyReader, takes_both_forms_of_mistral) {
  const auto two = ElementsAre(call_of("f", "{\"a\":1}"), call_of("get_weather", "{}"));
  EXPECT_THAT(
      mistral("[TOOL_CALLS] [{\"name\":\"f\",\"arguments\":{\"a\":1}}, {\"name\":\"get_weather\",\"id\":\"x\"}]"), two);
  EXPECT_THAT(mistral("[TOOL_CALLS]f[ARGS]{\"a\":1}[TOOL_CALLS]get_weather[ARGS]{}"), two);
  EXPECT_THAT(mistral("[TOOL_CALLS]f{\"a\":1} [TOOL_CALLS] get_weather {}"), two);
  EXPECT_THAT(mistral("[{\"name\":\"f\",\"arguments\":{\"a\":1}},{\"name\":\"get_weather\"}]"), two)
      << "the mark is a special token, which may not be printed";
  EXPECT_THAT(mistral("Wait. [TOOL_CALLS][{\"name\":\"f\"}]"), ElementsAre(content("Wait."), call_of("f", "{}")));
}

TEST(ReplyReader, takes_an_answer_that_is_one_call_by_a_constraint) {
  EXPECT_THAT(answer(rules_of(kForcedForm), "{\"name\":\"f\",\"arguments\":{\"a\":[1]}}"),
              ElementsAre(call_of("f", "{\"a\":[1]}")));
  EXPECT_THAT(answer(rules_of(kForcedForm), "{\"name\":\"f\",\"argum"), ElementsAre(content("{\"name\":\"f\",\"argum")))
      << "the limit of tokens cut it";
  EXPECT_THAT(answer(rules_of(kForcedForm), " { \"name\" : \"f\" ,\n\"arguments\" : {\"a\":\"}\"} } "),
              ElementsAre(call_of("f", "{\"a\":\"}\"}")));
  ReplyRules rules = rules_of(kForcedForm);
  rules.begins_in_thoughts = true;
  EXPECT_THAT(answer(rules, "{\"name\":\"f\"}"), ElementsAre(call_of("f", "{}"))) << "it leaves no room for thoughts";
}

TEST(ReplyReader, hands_the_arguments_of_a_forced_call_over_as_they_come) {
  const auto more = [](const std::string& text) { return ReplyPart{ReplyPart::Kind::arguments, text, ""}; };
  ReplyReader reader(rules_of(kForcedForm, true));
  EXPECT_THAT(reader.push("{\"name\":\"f\",\"argu"), IsEmpty());
  EXPECT_THAT(reader.push("ments\":"), IsEmpty());
  EXPECT_THAT(reader.push("{\"a\""), ElementsAre(call_of("f", ""), more("{\"a\"")));
  EXPECT_EQ(reader.calls(), 1);
  EXPECT_THAT(reader.push(":[1]}"), ElementsAre(more(":[1]}")));
  EXPECT_THAT(reader.push("}"), IsEmpty());
  EXPECT_THAT(reader.finish(), IsEmpty());
}

TEST(ReplyReader, keeps_the_part_of_a_forced_calls_arguments_that_a_limit_left) {
  EXPECT_THAT(answer(rules_of(kForcedForm), "{\"name\":\"f\",\"arguments\":{\"a\":\"x"),
              ElementsAre(call_of("f", "{\"a\":\"x")));
}

TEST(ReplyReader, reads_thoughts_before_calls_and_no_calls_in_thoughts) {
  EXPECT_THAT(
      hermes("<think>\n<tool_call>{\"name\":\"g\"}</tool_call>\n</think>\n\n<tool_call>{\"name\":\"f\"}</tool_call>"),
      ElementsAre(thought("<tool_call>{\"name\":\"g\"}</tool_call>"), call_of("f", "{}")));
}

TEST(ReplyReader, takes_one_call_where_calls_may_not_be_parallel) {
  const std::string text = "a<tool_call>{\"name\":\"f\"}</tool_call><tool_call>{\"name\":\"g\"}</tool_call>b";
  EXPECT_THAT(answer(rules_of(kHermesForm, true), text), ElementsAre(content("a"), call_of("f", "{}")));
}

TEST(ReplyReader, without_rules_passes_everything_as_it_is) {
  const std::string text = "<think>a</think><tool_call>{\"name\":\"f\"}</tool_call>";
  EXPECT_THAT(answer({}, text), ElementsAre(content(text)));
  EXPECT_THAT(answer({}, ""), IsEmpty());
}

TEST(ReplyReader, hands_text_over_at_once) {
  ReplyReader reader(rules_of(kHermesForm));
  EXPECT_THAT(reader.push("Hello"), ElementsAre(content("Hello")));
  EXPECT_THAT(reader.push(" <"), IsEmpty());
  EXPECT_THAT(reader.push("b"), ElementsAre(content(" <b")));
  EXPECT_THAT(reader.push("<tool_call>{\"name\":\"f\"}"), ElementsAre(call_of("f", "{}")));
  EXPECT_EQ(reader.calls(), 1);
}

// Texts of marks, calls and their parts in any order; every cut must give what one piece gives.
TEST(ReplyReader, gives_the_same_for_any_cut_of_a_text) {
  const std::string words[] = {"<tool_call>",
                               "</tool_call>",
                               "{\"name\":\"f\"}",
                               "{\"name\":\"get_weather\",\"arguments\":{\"a\":\"\\\"}\"}}",
                               "[TOOL_CALLS]",
                               "f[ARGS]{\"x\":1}",
                               "[{\"name\":\"f\"}]",
                               "[{",
                               "<|python_tag|>",
                               ";",
                               " ",
                               "\n",
                               "<think>",
                               "</think>",
                               "word",
                               "{",
                               "}",
                               "\"",
                               "<",
                               "[",
                               "é",
                               "{\"name\":\"h\"}",
                               "{\"name\":\"f\",\"arguments\":{"};
  std::mt19937 random(50);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto left = random() % 8; left > 0; --left) text += words[random() % std::size(words)];
    for (const ToolForm* form : {&kHermesForm, &kLlama3Form, &kMistralForm, &kForcedForm}) {
      const ReplyRules rules = rules_of(*form, random() % 8 == 0);
      const auto cut = read_in_pieces(ReplyReader(rules), text, [&] { return 1 + random() % 5; });
      ASSERT_EQ(cut, answer(rules, text)) << form->name << ": " << text;
    }
  }
}

TEST(ReplyReader, reads_a_long_call_in_short_pieces) {
  const std::string text =
      "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"" + std::string(400000, 'x') + "\"}}</tool_call>";
  const auto parts = read_in_pieces(ReplyReader(rules_of(kHermesForm)), text, [] { return size_t{3}; });
  EXPECT_EQ(parts.size(), 1u);
}

}  // namespace
}  // namespace tandem::serve
