// Requests of /v1/responses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/serve/openai/messages.h"
#include "engine/serve/openai/responses.h"
#include "engine/serve/openai/tools.h"
#include "tests/engine/serve/openai/refused.h"

namespace tandem::serve {
namespace {

OrderedJson chat_of(const std::string& members) {
  return chat_body_of_response(OrderedJson::parse("{" + members + "}"));
}
Refusal refused_response(const std::string& members) {
  return refused_by([&] { chat_of(members); });
}

TEST(ResponsesRequest, of_a_text_is_a_chat_of_one_message) {
  EXPECT_EQ(
      chat_of(
          R"("model":"m","input":"Hi","instructions":"Be short.","max_output_tokens":7,"temperature":0,"stream":true,"store":false)")
          .dump(),
      R"({"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"Hi"}],"model":"m","temperature":0,"stream":true,)"
      R"("max_completion_tokens":7})");
}

TEST(ResponsesRequest, of_items_is_the_same_conversation) {
  const OrderedJson chat = chat_of(R"("input":[
    {"role":"developer","content":"d"},
    {"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},
    {"type":"reasoning","id":"r","summary":[]},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"c","annotations":[]}]},
    {"type":"function_call","call_id":"1","name":"f","arguments":"{\"x\":1}"},
    {"type":"function_call","call_id":"2","name":"g","arguments":"{}"},
    {"type":"function_call_output","call_id":"1","output":"7"}])");
  EXPECT_EQ(
      template_messages(chat["messages"]).dump(),
      R"([{"role":"system","content":"d"},{"role":"user","content":"ab"},{"role":"assistant","content":"c","tool_calls":[)"
      R"({"type":"function","function":{"name":"f","arguments":{"x":1}},"id":"1"},)"
      R"({"type":"function","function":{"name":"g","arguments":{}},"id":"2"}]},{"role":"tool","content":"7","tool_call_id":"1"}])");
}

TEST(ResponsesRequest, has_formats_and_tools_as_chats_have_them) {
  const OrderedJson chat = chat_of(
      R"("input":"x","text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}}},
    "tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"tool_choice":{"type":"function","name":"f"})");
  EXPECT_EQ(chat["response_format"].dump(),
            R"({"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}})");
  EXPECT_EQ(read_tools(chat).named, "f");
  EXPECT_EQ(chat_of(R"("input":"x","text":{"format":{"type":"json_object"}})")["response_format"]["type"],
            "json_object");
}

TEST(ResponsesRequest, that_needs_a_state_is_refused) {
  for (const char* name : {"previous_response_id", "conversation", "prompt"})
    EXPECT_EQ(refused_response("\"input\":\"x\",\"" + std::string(name) + "\":\"y\"").param, name);
  for (const char* name : {"store", "background"})
    EXPECT_EQ(refused_response("\"input\":\"x\",\"" + std::string(name) + "\":true").param, name);
  EXPECT_EQ(refused_response(R"("input":"x","truncation":"auto")").param, "truncation");
  EXPECT_EQ(refused_response(R"("input":"x","include":["message.output_text.logprobs"])").param, "include");
  EXPECT_NO_THROW(
      chat_of(R"("input":"x","previous_response_id":null,"store":false,"truncation":"disabled","include":[])"));
  const OrderedJson chat = chat_of(R"("input":"x","stream_options":null,"n":null,"top_logprobs":0)");
  for (const char* none : {"stream_options", "n", "top_logprobs"}) EXPECT_FALSE(chat.contains(none)) << none;
}

TEST(ResponsesRequest, of_another_form_is_refused_by_its_place) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "input"},
      {R"("input":[])", "input"},
      {R"("input":7)", "input"},
      {R"("input":[7])", "input[0]"},
      {R"("input":[{"role":"tool","content":"x"}])", "input[0].role"},
      {R"("input":[{"role":"user"}])", "input[0].content"},
      {R"("input":[{"role":"user","content":[{"type":"input_image"}]}])", "input[0].content[0]"},
      {R"("input":[{"type":"web_search_call"}])", "input[0].type"},
      {R"("input":[{"type":"function_call","name":"f","arguments":"{}"}])", "input[0].call_id"},
      {R"("input":"x","instructions":7)", "instructions"},
      {R"("input":"x","max_output_tokens":0)", "max_output_tokens"},
      {R"("input":"x","max_output_tokens":1.5)", "max_output_tokens"},
      {R"("input":"x","max_tokens":5)", "max_tokens"},
      {R"("input":"x","messages":[])", "messages"},
      {R"("input":"x","n":2)", "n"},
      {R"("input":"x","stream_options":{})", "stream_options"},
      {R"("input":"x","top_logprobs":2)", "top_logprobs"},
      {R"("input":"x","text":{"verbosity":"low"})", "text.verbosity"},
      {R"("input":"x","text":{"format":{"type":"xml"}})", "text.format.type"},
      {R"("input":"x","text":{"format":{"type":"json_schema","name":"n"}})", "text.format.schema"},
      {R"("input":"x","tools":[{"type":"web_search"}])", "tools[0].type"},
      {R"("input":"x","tool_choice":{"type":"file_search"})", "tool_choice"},
  };
  for (const auto& [members, param] : cases) EXPECT_EQ(refused_response(members).param, param) << members;
}

}  // namespace
}  // namespace tandem::serve
