// Answers of /v1/responses: events and whole objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/serve/openai/responses.h"
#include "tests/engine/serve/openai/cuts.h"

namespace tandem::serve {
namespace {

using ::testing::ElementsAre;

ResponseWriter writer() {
  return ResponseWriter({"resp_1", "m", 7, OrderedJson::parse(R"({"input":"x","temperature":0.5})")});
}

struct Event {
  std::string type;
  OrderedJson data;
};

std::vector<Event> events_of(std::string_view text) {
  std::vector<Event> events;
  while (!text.empty()) {
    const size_t line = text.find('\n'), end = text.find("\n\n");
    EXPECT_TRUE(text.starts_with("event: "));
    EXPECT_EQ(text.substr(line + 1, 6), "data: ");
    events.push_back(
        {std::string(text.substr(7, line - 7)), OrderedJson::parse(text.substr(line + 7, end - line - 7))});
    EXPECT_EQ(events.back().data["type"], events.back().type);
    text.remove_prefix(end + 2);
  }
  return events;
}

std::vector<std::string> types_of(const std::vector<Event>& events) {
  std::vector<std::string> types;
  for (const Event& each : events) types.push_back(each.type.substr(std::string("response.").size()));
  return types;
}

TEST(ResponsesAnswer, has_the_official_events_in_their_order) {
  ResponseWriter response = writer();
  std::string text = response.begin();
  text += response.push({content("Hel")});
  text += response.push({content("lo")});
  text += response.finish({false, 3, 1, 2, 0});
  const auto events = events_of(text);
  EXPECT_THAT(types_of(events), ElementsAre("created", "in_progress", "output_item.added", "content_part.added",
                                            "output_text.delta", "output_text.delta", "output_text.done",
                                            "content_part.done", "output_item.done", "completed"));
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].data["sequence_number"], i);
  EXPECT_EQ(events[6].data["text"], "Hello");
  EXPECT_EQ(events[2].data["item"]["id"], events[4].data["item_id"]);
  EXPECT_EQ(events[9].data["response"], response.whole({false, 3, 1, 2, 0}));
}

TEST(ResponsesAnswer, is_a_whole_object_in_the_end) {
  ResponseWriter response = writer();
  response.push({content("Hello")});
  response.finish({});
  const OrderedJson whole = response.whole({false, 3, 1, 2, 0});
  EXPECT_EQ(whole["status"], "completed");
  EXPECT_EQ(whole["temperature"], 0.5);
  EXPECT_EQ(whole["output"][0]["content"].dump(), R"([{"type":"output_text","text":"Hello","annotations":[]}])");
  EXPECT_EQ(whole["usage"].dump(), R"({"input_tokens":3,"input_tokens_details":{"cached_tokens":1},"output_tokens":2,)"
                                   R"("output_tokens_details":{"reasoning_tokens":0},"total_tokens":5})");
}

TEST(ResponsesAnswer, that_is_cut_says_why) {
  ResponseWriter response = writer();
  response.push({content("Hel")});
  EXPECT_EQ(events_of(response.finish({.is_cut = true})).back().type, "response.incomplete");
  const OrderedJson whole = response.whole({.is_cut = true});
  EXPECT_EQ(whole["status"], "incomplete");
  EXPECT_EQ(whole["incomplete_details"]["reason"], "max_output_tokens");
}

TEST(ResponsesAnswer, has_an_item_for_thoughts_texts_and_each_call) {
  ResponseWriter response = writer();
  std::string text = response.push({thought("Hm."), content("Hi"), call_of("f", R"({"a":1})"), call_of("g", "{}")});
  text += response.finish({});
  const OrderedJson output = response.whole({})["output"];
  ASSERT_EQ(output.size(), 4u);
  EXPECT_EQ(output[0]["type"], "reasoning");
  EXPECT_EQ(output[0]["content"][0]["text"], "Hm.");
  EXPECT_EQ(output[1]["type"], "message");
  EXPECT_EQ(output[2]["name"], "f");
  EXPECT_EQ(output[2]["arguments"], R"({"a":1})");
  EXPECT_NE(output[2]["call_id"], output[3]["call_id"]);
  int done = 0;
  for (const Event& each : events_of(text)) {
    if (each.type != "response.output_item.done") continue;
    EXPECT_EQ(each.data["output_index"], done);
    EXPECT_EQ(each.data["item"], output[static_cast<size_t>(done++)]);
  }
  EXPECT_EQ(done, 4);
}

TEST(ResponsesAnswer, has_the_arguments_of_a_call_as_they_come) {
  ResponseWriter response = writer();
  std::string text = response.push({call_of("f", ""), {ReplyPart::Kind::arguments, "{\"a\""}});
  text += response.push({{ReplyPart::Kind::arguments, ":1}"}});
  text += response.finish({});
  const auto events = events_of(text);
  EXPECT_THAT(types_of(events),
              ElementsAre("output_item.added", "function_call_arguments.delta", "function_call_arguments.delta",
                          "function_call_arguments.done", "output_item.done", "completed"));
  EXPECT_EQ(events[2].data["delta"], ":1}");
  EXPECT_EQ(events[3].data["arguments"], R"({"a":1})");
  EXPECT_EQ(response.whole({})["output"][0]["arguments"], R"({"a":1})");
}

TEST(ResponsesAnswer, without_a_text_has_an_empty_message) {
  ResponseWriter response = writer();
  response.finish({});
  const OrderedJson output = response.whole({})["output"];
  ASSERT_EQ(output.size(), 1u);
  EXPECT_EQ(output[0]["type"], "message");
}

TEST(ResponsesAnswer, that_fails_says_so_in_the_stream) {
  ResponseWriter response = writer();
  response.begin();
  const auto events = events_of(response.fail({{"code", "server_error"}, {"message", "No."}}));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].data["response"]["status"], "failed");
  EXPECT_EQ(events[0].data["response"]["error"]["message"], "No.");
}

}  // namespace
}  // namespace tandem::serve
