// Requests for texts, from JSON to values.
#include "engine/serve/api/ask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const AskRules kRules{{}, 100, false};

Ask completion(const std::string& text, const AskRules& rules = kRules) {
  return read_completion(parse_body(text), rules);
}
Ask chat_of(const std::string& text) { return read_chat(parse_body(text), kRules); }

template <typename Read>
std::string refused(const Read& read, const std::string& text) {
  try {
    read(text);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400) << text;
    return error.param;
  } catch (const Refusal& refusal) {
    return refusal.param;
  }
  ADD_FAILURE() << "not refused: " << text;
  return "";
}

TEST(Ask, of_a_completion_has_what_was_said_and_the_usual_values_else) {
  AskRules rules = kRules;
  rules.usual.sampler.top_k = 7;
  const Ask ask = completion(
      R"({"model":"m","prompt":"x","max_tokens":5,"temperature":0.5,"top_p":0.25,"min_p":0,"seed":9,"n":2,
          "stop":["a","b"],"stream":true,"stream_options":{"include_usage":true},"echo":true,"user":"u",
          "repeat_penalty":1.5,"ignore_eos":true,"presence_penalty":-1,"frequency_penalty":1,"logprobs":3,
          "logit_bias":{"7":-100}})",
      rules);
  EXPECT_EQ(ask.model, "m");
  ASSERT_EQ(ask.prompts.size(), 1u);
  EXPECT_EQ(ask.prompts[0].text, "x");
  EXPECT_EQ(ask.options.predict, 5);
  EXPECT_EQ(ask.options.sampler.temperature, 0.5f);
  EXPECT_EQ(ask.options.sampler.top_p, 0.25f);
  EXPECT_EQ(ask.options.sampler.top_k, 7);
  EXPECT_EQ(ask.options.sampler.min_p, 0);
  EXPECT_EQ(ask.options.sampler.repeat_penalty, 1.5f);
  EXPECT_TRUE(ask.options.ignore_end && ask.is_stream && ask.include_usage && ask.echo);
  EXPECT_EQ(ask.options.sampler.presence_penalty, -1);
  EXPECT_EQ(ask.options.sampler.frequency_penalty, 1);
  EXPECT_THAT(ask.options.sampler.logit_bias, ElementsAre(std::pair(7, -100.0f)));
  EXPECT_EQ(ask.logprobs, 3);
  EXPECT_EQ(ask.seed, 9u);
  EXPECT_EQ(ask.choices, 2);
  EXPECT_THAT(ask.options.stop, ElementsAre("a", "b"));
  EXPECT_EQ(completion(R"({"prompt":"x"})").options.predict, 16) << "OpenAI's value";
}

TEST(Ask, takes_prompts_as_texts_and_ids) {
  EXPECT_EQ(completion(R"({"prompt":["a","b"]})").prompts.size(), 2u);
  EXPECT_THAT(completion(R"({"prompt":[1,2,99]})").prompts.at(0).ids, ElementsAre(1, 2, 99));
  const auto lists = completion(R"({"prompt":[[1],[2,3]]})").prompts;
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_THAT(lists[1].ids, ElementsAre(2, 3));
  for (const char* prompt : {"[]", "[100]", "[-1]", "[1.5]", "[\"a\",1]", "[[]]", "{}", "7", "[1,\"a\"]"})
    EXPECT_EQ(refused([](const auto& text) { completion(text); }, std::string(R"({"prompt":)") + prompt + "}"),
              "prompt")
        << prompt;
  EXPECT_EQ(refused([](const auto& text) { completion(text); }, "{}"), "prompt");
}

TEST(Ask, names_a_value_out_of_range_or_of_another_type) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"temperature", "-1"},
                                                                                    {"temperature", "2.1"},
                                                                                    {"temperature", "\"1\""},
                                                                                    {"top_p", "2"},
                                                                                    {"top_k", "-1"},
                                                                                    {"min_p", "1.1"},
                                                                                    {"n", "0"},
                                                                                    {"n", "17"},
                                                                                    {"max_tokens", "-2"},
                                                                                    {"max_tokens", "1.5"},
                                                                                    {"stop", "\"\""},
                                                                                    {"stop", "{}"},
                                                                                    {"stream", "1"},
                                                                                    {"stream_options", "{}"},
                                                                                    {"seed", "\"x\""},
                                                                                    {"model", "1"},
                                                                                    {"grammar", "1"},
                                                                                    {"response_format", "\"json\""},
                                                                                    {"best_of", "2"},
                                                                                    {"logprobs", "21"},
                                                                                    {"presence_penalty", "2.5"},
                                                                                    {"frequency_penalty", "-3"},
                                                                                    {"logit_bias", "[]"},
                                                                                    {"logit_bias", "{\"100\":1}"},
                                                                                    {"logit_bias", "{\"1x\":1}"},
                                                                                    {"logit_bias", "{\"1\":101}"},
                                                                                    {"tools", "[]"}})
    EXPECT_EQ(refused([](const auto& text) { completion(text); }, R"({"prompt":"x",")" + name + "\":" + value + "}"),
              name);
}

TEST(Ask, of_a_chat_has_messages_of_texts_and_parts) {
  const Ask ask = chat_of(
      R"({"messages":[{"role":"developer","content":"d"},{"role":"user","content":[{"type":"text","text":"a"},
          {"type":"text","text":"b"}]}],"max_completion_tokens":3,"max_tokens":4,
          "chat_template_kwargs":{"enable_thinking":false}})");
  ASSERT_EQ(ask.messages.size(), 2u);
  EXPECT_EQ(ask.messages[0].at("role"), "system");
  EXPECT_EQ(ask.messages[1].at("content"), "ab");
  EXPECT_EQ(ask.options.predict, 3);
  EXPECT_EQ(ask.template_arguments.dump(), R"({"enable_thinking":false})");
  EXPECT_EQ(chat_of(R"({"messages":[{"role":"user","content":"x"}]})").options.predict, -1);
}

TEST(Ask, of_a_chat_names_likely_tokens_only_with_probabilities) {
  const std::string messages = R"({"messages":[{"role":"user","content":"x"}],)";
  EXPECT_EQ(chat_of(messages + R"("logprobs":true})").logprobs, 0);
  EXPECT_EQ(chat_of(messages + R"("logprobs":true,"top_logprobs":5})").logprobs, 5);
  EXPECT_FALSE(chat_of(messages + R"("logprobs":false})").logprobs);
  EXPECT_EQ(refused([](const auto& text) { chat_of(text); }, messages + R"("top_logprobs":5})"), "top_logprobs");
  EXPECT_EQ(refused([](const auto& text) { chat_of(text); }, messages + R"("logprobs":3})"), "logprobs");
}

TEST(Ask, names_what_is_wrong_with_messages) {
  const auto at = [](const std::string& messages) {
    return refused([](const auto& text) { chat_of(text); }, R"({"messages":)" + messages + "}");
  };
  EXPECT_EQ(at("[]"), "messages");
  EXPECT_EQ(at("{}"), "messages");
  EXPECT_EQ(at("null"), "messages");
  EXPECT_EQ(at("[1]"), "messages[0]");
  EXPECT_EQ(at(R"([{"role":"user","content":"x"},{"role":"wizard","content":"x"}])"), "messages[1].role");
  EXPECT_EQ(at(R"([{"content":"x"}])"), "messages[0].role");
  EXPECT_EQ(at(R"([{"role":"user"}])"), "messages[0].content");
  EXPECT_EQ(at(R"([{"role":"user","content":[{"type":"image_url","image_url":{}}]}])"), "messages[0].content[0]");
  EXPECT_EQ(at(R"([{"role":"user","content":"x","colour":1}])"), "messages[0].colour");
}

TEST(Ask, for_a_form_has_one_of_them) {
  EXPECT_TRUE(completion(R"({"prompt":"x","response_format":{"type":"json_object"}})").json_object);
  EXPECT_EQ(completion(R"({"prompt":"x","response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,
      "schema":{"type":"object","b":1,"a":2}}}})")
                .json_schema,
            R"({"type":"object","b":1,"a":2})")
      << "in the order of the request";
  EXPECT_EQ(completion(R"({"prompt":"x","grammar":"root ::= \"a\""})").grammar, R"(root ::= "a")");
  EXPECT_EQ(completion(R"({"prompt":"x","response_format":{"type":"json_object","schema":{"const":1}}})").json_schema,
            R"({"const":1})")
      << "as llama.cpp has it";
  const auto param = [](const std::string& form) {
    return refused([](const auto& text) { completion(text); }, R"({"prompt":"x",)" + form + "}");
  };
  EXPECT_EQ(param(R"("response_format":{"type":"xml"})"), "response_format.type");
  EXPECT_EQ(param(R"("response_format":{"type":"json_object","schema":{}},"json_schema":{})"), "json_schema");
  EXPECT_EQ(param(R"("response_format":{"type":"json_schema"})"), "response_format.json_schema");
  EXPECT_EQ(param(R"("response_format":{"type":"json_object"},"grammar":"root ::= \"a\"")"), "grammar");
}

TEST(Ask, takes_openais_members_that_ask_for_nothing) {
  EXPECT_EQ(completion(R"({"prompt":"x","suffix":null,"best_of":2,"n":2,"stop":null})").choices, 2);
  const std::string chat = R"({"messages":[{"role":"user","content":"a"}],)";
  EXPECT_TRUE(
      chat_of(chat + R"("functions":null,"reasoning_effort":null,"modalities":["text"],"audio":null})").is_chat);
  const auto param = [&](const std::string& member) { return refused(chat_of, chat + member + "}"); };
  EXPECT_TRUE(chat_of(chat + R"("prompt_cache_retention":"24h","prompt_cache_key":null})").is_chat);
  EXPECT_EQ(param(R"("reasoning_effort":"low")"), "reasoning_effort");
  EXPECT_EQ(param(R"("modalities":["text","audio"])"), "modalities");
  EXPECT_EQ(param(R"("suffix":null)"), "suffix") << "of completions";
  EXPECT_EQ(refused([](const auto& text) { completion(text); }, R"({"prompt":"x","best_of":3})"), "best_of");
}

TEST(Ask, keeps_unknown_members_only_where_the_server_is_lenient) {
  AskRules rules = kRules;
  rules.lenient = true;
  EXPECT_THAT(completion(R"({"prompt":"x","colour":1})", rules).ignored, ElementsAre("colour"));
  EXPECT_EQ(refused([](const auto& text) { completion(text); }, R"({"prompt":"x","colour":1})"), "colour");
}

}  // namespace
}  // namespace tandem::serve
