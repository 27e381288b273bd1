// Texts that a server writes for its clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <future>
#include <mutex>
#include <set>
#include <sstream>

#include "engine/run/serve/logprobs.h"
#include "engine/serve/api/answer.h"
#include "engine/serve/api/text_group.h"
#include "tests/engine/serve/served.h"

namespace tandem::testing {
namespace {

using serve::characters_of;
using serve::Json;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string ids_json(const std::vector<int32_t>& ids) { return Json(ids).dump(); }

std::string greedy(const std::vector<int32_t>& ids, int tokens, const std::string& more = "") {
  return R"({"temperature":0,"ignore_eos":true,"prompt":)" + ids_json(ids) +
         ",\"max_tokens\":" + std::to_string(tokens) + more + "}";
}

// A text as JSON has it, where bytes that are no UTF-8 are replaced.
Json in_an_answer(const std::string& text) {
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
}

TEST(ServedTexts, have_the_bits_that_they_have_alone) {
  const Served served;
  const auto alone = served.open_alone();
  std::vector<std::future<Json>> found;
  for (int i = 0; i < 8; ++i)
    found.push_back(std::async(
        std::launch::async, [&served, i] { return served.json("/v1/completions", greedy(some_ids(3 + 7 * i), 12)); }));
  for (int i = 0; i < 8; ++i) {
    const Generation expected = generate(*alone, some_ids(3 + 7 * i), so_many(12));
    const Json answer = found[static_cast<size_t>(i)].get();
    EXPECT_EQ(answer.at("choices").at(0).at("text"), in_an_answer(expected.text)) << i;
    EXPECT_EQ(answer.at("usage").at("completion_tokens"), 12);
    EXPECT_EQ(answer.at("usage").at("prompt_tokens"), 3 + 7 * i);
    EXPECT_EQ(answer.at("choices").at(0).at("finish_reason"), "length");
  }
}

TEST(ServedTexts, are_the_same_as_a_stream) {
  const Served served;
  const Json whole = served.json("/v1/completions", greedy(some_ids(9), 20));
  const Answered stream = served.post(
      "/v1/completions", greedy(some_ids(9), 20, R"(,"stream":true,"stream_options":{"include_usage":true})"));
  EXPECT_THAT(stream.head, HasSubstr("text/event-stream"));
  EXPECT_THAT(stream.body, EndsWith("data: [DONE]\n\n"));
  const std::vector<Json> events = events_of(stream.body);
  ASSERT_GT(events.size(), 2u);
  std::string text;
  std::set<std::string> ids;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const Json& choice = events[i].at("choices").at(0);
    text += choice.at("text").get<std::string>();
    ids.insert(events[i].at("id").get<std::string>() + events[i].at("created").dump());
    EXPECT_EQ(choice.at("finish_reason").is_null(), i + 2 < events.size()) << i;
  }
  EXPECT_EQ(text, whole.at("choices").at(0).at("text"));
  EXPECT_EQ(ids.size(), 1u);
  EXPECT_EQ(events.back().at("usage").at("completion_tokens"), 20);
}

TEST(ServedTexts, of_a_chat_are_messages) {
  const Served served;
  const std::string body =
      R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":6,"temperature":0,"ignore_eos":true)";
  const Json whole = served.json("/v1/chat/completions", body + "}");
  EXPECT_EQ(whole.at("object"), "chat.completion");
  EXPECT_EQ(whole.at("choices").at(0).at("message").at("role"), "assistant");
  const std::vector<Json> events = events_of(served.post("/v1/chat/completions", body + R"(,"stream":true})").body);
  ASSERT_GT(events.size(), 2u);
  EXPECT_EQ(events.front().at("choices").at(0).at("delta").at("role"), "assistant");
  std::string text;
  for (const Json& event : events)
    if (event.at("choices").at(0).at("delta").contains("content"))
      text += event.at("choices").at(0).at("delta").at("content").get<std::string>();
  EXPECT_EQ(text, whole.at("choices").at(0).at("message").at("content"));
}

TEST(ServedTexts, of_several_choices_read_their_prompt_once) {
  const Served served;
  const std::string body = R"({"prompt":)" + ids_json(some_ids(40)) +
                           R"(,"n":3,"max_tokens":8,"temperature":1.5,"seed":7,"ignore_eos":true)";
  const Json answer = served.json("/v1/completions", body + "}");
  ASSERT_EQ(answer.at("choices").size(), 3u);
  EXPECT_EQ(answer.at("usage").at("prompt_tokens"), 40);
  EXPECT_EQ(answer.at("usage").at("completion_tokens"), 24);
  EXPECT_NE(answer.at("choices").at(0).at("text"), answer.at("choices").at(1).at("text")) << "each has its own seed";
  EXPECT_GE(served.metric("cached_tokens_total"), 2 * 39);
  EXPECT_EQ(served.json("/v1/completions", body + "}").at("choices"), answer.at("choices")) << "and the same each time";
}

TEST(ServedTexts, of_several_prompts_stand_in_their_order) {
  const Served served;
  const Json both =
      served.json("/v1/completions", R"({"prompt":[)" + ids_json(some_ids(5)) + "," + ids_json(some_ids(6)) +
                                         R"(],"max_tokens":5,"temperature":0,"ignore_eos":true})");
  ASSERT_EQ(both.at("choices").size(), 2u);
  for (const int i : {0, 1})
    EXPECT_EQ(both.at("choices").at(static_cast<size_t>(i)).at("text"),
              served.json("/v1/completions", greedy(some_ids(5 + i), 5)).at("choices").at(0).at("text"));
}

TEST(ServedTexts, begin_with_their_prompt_if_that_is_echoed) {
  const Served served;
  const Json alone = served.json("/v1/completions", R"({"prompt":"ab","max_tokens":4,"temperature":0})"),
             echoed = served.json("/v1/completions", R"({"prompt":"ab","max_tokens":4,"temperature":0,"echo":true})");
  EXPECT_EQ(echoed.at("choices").at(0).at("text").get<std::string>(),
            "ab" + alone.at("choices").at(0).at("text").get<std::string>());
}

// A greedy text's tokens are the most likely ones, and their pieces make up the text, whole or as a stream.
TEST(ServedTexts, have_probabilities_in_both_official_forms) {
  const Served served;
  const Json choice = served.json("/v1/completions", greedy(some_ids(9), 6, ",\"logprobs\":2")).at("choices").at(0);
  const Json& probabilities = choice.at("logprobs");
  ASSERT_EQ(probabilities.at("tokens").size(), 6u);
  std::string pieces;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(probabilities.at("top_logprobs").at(i).begin().value(), probabilities.at("token_logprobs").at(i));
    EXPECT_LE(probabilities.at("token_logprobs").at(i), 0);
    pieces += probabilities.at("tokens").at(i).get<std::string>();
  }
  const std::string body = R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":6,"temperature":0,)"
                           R"("ignore_eos":true,"logprobs":true,"top_logprobs":1)";
  const Json chat = served.json("/v1/chat/completions", body + "}").at("choices").at(0).at("logprobs").at("content");
  ASSERT_EQ(chat.size(), 6u);
  Json streamed = Json::array();
  for (const Json& event : events_of(served.post("/v1/chat/completions", body + R"(,"stream":true})").body)) {
    const Json& part = event.at("choices").at(0).at("logprobs");
    if (!part.is_null())
      for (const Json& token : part.at("content")) streamed.push_back(token);
  }
  EXPECT_EQ(streamed, chat);
  for (const Json& token : chat) EXPECT_EQ(token.at("top_logprobs").at(0).at("logprob"), token.at("logprob"));
}

// OpenAI's form: the tokens of prompt and answer are one list, and nothing is known of the first.
TEST(ServedTexts, have_probabilities_of_an_echoed_prompt) {
  const Served served;
  const auto alone = served.open_alone();
  const std::vector<int32_t> ids = some_ids(9);
  const std::string more = R"(,"echo":true,"logprobs":1)";
  const Json choice = served.json("/v1/completions", greedy(ids, 4, more)).at("choices").at(0);
  const Json& told = choice.at("logprobs");
  ASSERT_EQ(told.at("tokens").size(), 13u);
  EXPECT_TRUE(told.at("token_logprobs").at(0).is_null());
  EXPECT_TRUE(told.at("top_logprobs").at(0).is_null());
  EXPECT_EQ(told.at("text_offset").at(0), 0);
  Sequence text = alone->cache().new_sequence();
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    const ChosenToken expected = with_logprobs(extend(*alone, text, std::span(&ids[i], 1)), ids[i + 1], 1);
    EXPECT_FLOAT_EQ(told.at("token_logprobs").at(i + 1).get<float>(), expected.logprob) << i;
    EXPECT_EQ(told.at("top_logprobs").at(i + 1).size(), 1u);
  }
  const Json prompt_alone = served.json("/v1/completions", greedy(ids, 0, more)).at("choices").at(0).at("logprobs");
  EXPECT_EQ(prompt_alone.at("tokens").size(), 9u) << "no token is written";
  EXPECT_EQ(prompt_alone.at("token_logprobs").at(8), told.at("token_logprobs").at(8));
  Json streamed = Json::object();
  for (const Json& event : events_of(served.post("/v1/completions", greedy(ids, 4, more + R"(,"stream":true)")).body)) {
    const Json& part = event.at("choices").at(0).at("logprobs");
    if (part.is_null()) continue;
    for (const auto& [name, list] : part.items())
      for (const Json& each : list) streamed[name].push_back(each);
  }
  EXPECT_EQ(streamed, told);
}

TEST(ServedTexts, have_tokens_that_make_up_an_echoed_prompt) {
  const Served served;
  const std::string body = R"({"prompt":["ab","ba ab"],"max_tokens":3,"temperature":0,"echo":true,"logprobs":0})";
  const Json answer = served.json("/v1/completions", body);
  for (const Json& choice : answer.at("choices")) {
    std::string pieces;
    for (const Json& piece : choice.at("logprobs").at("tokens")) pieces += piece.get<std::string>();
    EXPECT_EQ(pieces.substr(0, 2), choice.at("text").get<std::string>().substr(0, 2));
    EXPECT_EQ(choice.at("logprobs").at("text_offset").back().get<size_t>() +
                  characters_of(choice.at("logprobs").at("tokens").back().get<std::string>()),
              characters_of(choice.at("text").get<std::string>()));
  }
  EXPECT_EQ(answer.at("usage").at("prompt_tokens_details").at("cached_tokens"), 0);
}

// A required call is a JSON object by the function's schema, whatever the random model would write.
TEST(ServedTexts, are_calls_of_functions_where_these_are_required) {
  ServedSettings settings;
  settings.chat_template =
      "{% for m in messages %}{{ m.content }}{% endfor %}{% if tools %}<tool_call>{{ tools | tojson }}{% endif %}";
  const Served served(settings);
  const std::string body =
      R"({"messages":[{"role":"user","content":"hi"}],"temperature":1,"max_tokens":200,"tool_choice":"required","tools":[)"
      R"({"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"enum":[1,2]}},)"
      R"("required":["a"],"additionalProperties":false}}}])";
  const Json choice = served.json("/v1/chat/completions", body + "}").at("choices").at(0);
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls") << choice;
  const Json function = choice.at("message").at("tool_calls").at(0).at("function");
  EXPECT_EQ(function.at("name"), "f");
  EXPECT_TRUE(Json::parse(function.at("arguments").get<std::string>()).contains("a"));
  const std::vector<Json> events = events_of(served.post("/v1/chat/completions", body + R"(,"stream":true})").body);
  EXPECT_EQ(events.back().at("choices").at(0).at("finish_reason"), "tool_calls");
  std::string arguments;
  int pieces = 0;
  for (const Json& event : events) {
    const Json& delta = event.at("choices").at(0).at("delta");
    if (!delta.contains("tool_calls")) continue;
    arguments += delta.at("tool_calls").at(0).at("function").at("arguments").get<std::string>();
    ++pieces;
  }
  EXPECT_TRUE(Json::parse(arguments).contains("a"));
  EXPECT_GT(pieces, 2) << "arguments come as they are written";
  const Served without;
  EXPECT_EQ(without.post("/v1/chat/completions", body + "}").status, 400) << "its template has no functions";
}

// The prompt begins thoughts, which a random model does not end. A text with a form has no thoughts.
TEST(ServedTexts, tell_thoughts_from_answers) {
  ServedSettings settings;
  settings.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}<think>\n";
  const Served served(settings);
  const std::string body = R"({"messages":[{"role":"user","content":"hi"}],"max_tokens":20,"temperature":0)";
  const auto message = [&](const std::string& more) {
    return served.json("/v1/chat/completions", body + more).at("choices").at(0).at("message");
  };
  EXPECT_FALSE(message("}").value("reasoning_content", "").empty());
  EXPECT_EQ(message(R"(,"grammar":"root ::= \"yes\""})").at("content"), "yes");
}

TEST(ServedTexts, are_responses_too) {
  const Served served;
  const std::string body = R"({"input":"hi","max_output_tokens":6,"temperature":0)";
  const Json whole = served.json("/v1/responses", body + "}");
  EXPECT_EQ(whole.at("object"), "response");
  const std::string text = whole.at("output").at(0).at("content").at(0).at("text");
  const Answered stream = served.post("/v1/responses", body + R"(,"stream":true})");
  EXPECT_THAT(stream.body, HasSubstr("event: response.created"));
  EXPECT_THAT(stream.body, HasSubstr("event: response."));
  std::string streamed;
  for (const Json& event : events_of(stream.body))
    if (event.at("type") == "response.output_text.delta") streamed += event.at("delta").get<std::string>();
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(served.post("/v1/responses", R"({"input":"hi","previous_response_id":"x"})").status, 400);
}

TEST(ServedTexts, follow_biases) {
  const Served served;
  const auto first = [&](const std::string& more) {
    return served.json("/v1/completions", greedy(some_ids(9), 1, ",\"logprobs\":0" + more))
        .at("choices")
        .at(0)
        .at("logprobs")
        .at("tokens")
        .at(0);
  };
  EXPECT_EQ(first(",\"logit_bias\":{\"70\":100}"), served.json("/detokenize", R"({"tokens":[70]})").at("content"));
  EXPECT_NE(first(""), first(",\"logit_bias\":{\"70\":100}"));
}

TEST(ServedTexts, keep_the_form_that_is_asked_for) {
  const Served served;
  const Json answer = served.json(
      "/v1/completions", R"({"prompt":"x","max_tokens":60,"temperature":1.5,"grammar":"root ::= \"yes\" | \"no\""})");
  const std::string text = answer.at("choices").at(0).at("text");
  EXPECT_TRUE(text == "yes" || text == "no") << text;
  EXPECT_EQ(answer.at("choices").at(0).at("finish_reason"), "stop");
}

// The client closes its connection while its text is written, waits, or has not begun to be read.
TEST(ServedTexts, end_when_their_clients_leave) {
  Served served({.width = 1});
  Client first(served.port()), second(served.port());
  first.send(post("/v1/completions", greedy(some_ids(5), 4000, ",\"stream\":true")));
  ASSERT_TRUE(first.read_until("data: "));
  second.send(post("/v1/completions", greedy(some_ids(6), 4000)));
  ASSERT_TRUE(served.wait_for("texts_waiting", 1));
  second.leave();
  EXPECT_TRUE(served.wait_for("texts_waiting", 0)) << "it leaves the line";
  first.leave();
  EXPECT_TRUE(served.wait_for("texts_active", 0));
  EXPECT_TRUE(served.wait_for("texts_cancelled_total", 2));
  EXPECT_LT(served.metric("predicted_tokens_total"), 4000);
  EXPECT_EQ(served.json("/v1/completions", greedy(some_ids(7), 3)).at("usage").at("completion_tokens"), 3);
}

// Another text has the only page of the draft model. Passes with a draft seem to take no time, so that it is asked.
TEST(ServedTexts, go_on_without_a_draft_model_that_fails) {
  std::ostringstream log;
  const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log, true);
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.push_back(sink);
  {
    Served served({.context = 128, .is_ready = false});
    const auto model = std::make_shared<DraftModel>(served.open_beside(), served.engine());
    Sequence other = model->engine().cache().new_sequence();
    extend(model->engine(), other, some_ids(3));
    for (int pass = 0; pass < 10; ++pass) {
      model->engine().plans().times().learn({1}, 1, 0, 1e-9);
      served.engine().plans().times().learn({1}, 1, 0, 1);
      served.engine().plans().times().learn({1}, 2, 0, 1e-7);
    }
    SpecOptions drafts;
    drafts.model = model;
    served.become_ready(drafts);
    const auto alone = served.open_alone();
    EXPECT_EQ(served.json("/v1/completions", greedy(some_ids(5), 20)).at("choices").at(0).at("text"),
              in_an_answer(generate(*alone, some_ids(5), so_many(20)).text));
  }
  sinks.pop_back();
  EXPECT_THAT(log.str(), HasSubstr("a text went on without the draft model: "));
  EXPECT_THAT(log.str(), HasSubstr("no free page"));
}

TEST(ServedTexts, are_refused_when_the_line_is_full) {
  Served served({.width = 1, .most_waiting = 1});
  Client first(served.port()), second(served.port());
  first.send(post("/v1/completions", greedy(some_ids(5), 4000, ",\"stream\":true")));
  ASSERT_TRUE(first.read_until("data: "));
  second.send(post("/v1/completions", greedy(some_ids(6), 2)));
  ASSERT_TRUE(served.wait_for("texts_waiting", 1));
  const Answered refused = served.post("/v1/completions", greedy(some_ids(7), 2));
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: "));
  EXPECT_EQ(served.metric("turned_away_total"), 1);
  first.leave();
  EXPECT_EQ(second.answer().status, 200) << "who waited gets a text";
}

TEST(ServedTexts, in_work_end_properly_when_the_server_does) {
  Served served({.width = 1});
  Client client(served.port()), waiting(served.port());
  client.send(post("/v1/completions", greedy(some_ids(5), 4000, ",\"stream\":true")));
  ASSERT_TRUE(client.read_until("data: "));
  waiting.send(post("/v1/completions", greedy(some_ids(6), 4)));
  ASSERT_TRUE(served.wait_for("texts_waiting", 1));
  served.server().stop_listening();
  served.api().finish(std::chrono::milliseconds(50));
  EXPECT_EQ(waiting.answer().status, 503);
  const std::string end = client.read_all();
  EXPECT_THAT(end, HasSubstr("server_ending"));
  EXPECT_THAT(end, EndsWith("0\r\n\r\n")) << "the stream is whole";
}

TEST(ServedTexts, that_end_within_the_servers_last_moments_are_whole) {
  Served served;
  Client client(served.port());
  client.send(post("/v1/completions", greedy(some_ids(5), 30, ",\"stream\":true")));
  ASSERT_TRUE(client.read_until("data: "));
  served.api().finish(std::chrono::seconds(30));
  EXPECT_THAT(client.answer().body, EndsWith("data: [DONE]\n\n"));
}

// An exchange that keeps its answer, in order.
class Kept : public http::Exchange {
 public:
  const http::Request& request() const override { return request_; }
  void answer(http::Response response) override { keep("answer " + response.body); }
  void begin(http::Response head) override { keep("begin " + head.body); }
  bool write(std::string piece) override {
    keep("write " + piece);
    return true;
  }
  void end() override { keep("end"); }
  size_t unread_bytes() const override { return 0; }
  void when_gone(std::function<void()>) override {}
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  void keep(const std::string& what) {
    const std::lock_guard lock(mutex_);
    all_.push_back(what);
  }
  const http::Request request_;
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

// The service's thread stands still as behind a pass that never ends.
TEST(TextGroup, ends_its_answer_while_the_service_is_busy) {
  Served served({.is_ready = false});
  for (const bool is_stream : {false, true}) {
    serve::Metrics metrics;
    TextService service(served.engine(), 2);
    std::promise<void> go;
    service.between_passes([held = go.get_future().share()] { held.wait(); });
    serve::GroupOptions options;
    options.head = {false, "cmpl-1", "tiny", 0};
    options.is_stream = is_stream;
    options.tokenizer = &served.engine().model().tokenizer();
    options.stop = std::make_shared<std::atomic<bool>>(true);
    GenerateOptions text;
    text.predict = 3;
    const auto exchange = std::make_shared<Kept>();
    const auto group = std::make_shared<serve::TextGroup>(
        exchange, std::move(options), std::vector<serve::TextGroup::Text>{{{1, 2}, text}}, 1, metrics);
    group->begin(service);
    EXPECT_TRUE(exchange->all().empty());
    group->end_with(serve::server_ends());
    group->end_with(serve::server_ends());
    ASSERT_EQ(exchange->all().size(), 1u);
    EXPECT_THAT(exchange->all().front(), HasSubstr("answer {\"error\":{\"message\":\"The server ends.\""));
    go.set_value();
    service.close();
    EXPECT_EQ(exchange->all().size(), 1u) << "nothing comes behind an answer's end";
    group->end_with(serve::server_ends());
    EXPECT_EQ(exchange->all().size(), 1u);
  }
}

// The schema has a state for each character, which takes many times as long as a text of one token.
TEST(Api, lets_nobody_wait_for_the_form_of_another_text) {
  const Served served;
  std::atomic<bool> has_form = false;
  std::thread other([&] {
    EXPECT_EQ(served
                  .post("/v1/completions",
                        R"({"prompt":"a","max_tokens":1,"json_schema":{"type":"string","minLength":40000}})")
                  .status,
              200);
    has_form = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // the other request is mostly read first
  EXPECT_EQ(served.post("/v1/completions", R"({"prompt":"a","max_tokens":1})").status, 200);
  EXPECT_FALSE(has_form);
  other.join();
  EXPECT_TRUE(has_form);
}

}  // namespace
}  // namespace tandem::testing
