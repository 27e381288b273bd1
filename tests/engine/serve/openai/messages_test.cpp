// Messages as chat templates take them.
#include "engine/serve/openai/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/chat_template/chat_template.h"
#include "tests/engine/serve/openai/refused.h"

namespace tandem::serve {
namespace {

std::string read(const std::string& list) { return template_messages(OrderedJson::parse(list)).dump(); }
std::string param_of(const std::string& list) {
  return refused_by([&] { read(list); }).param;
}

TEST(Messages, have_roles_and_contents_of_one_form) {
  EXPECT_EQ(
      read(
          R"([{"role":"developer","content":"a"},{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}],"name":"n"},
                     {"role":"assistant","content":"d","reasoning_content":"e","refusal":null}])"),
      R"([{"role":"system","content":"a"},{"role":"user","content":"bc","name":"n"},)"
      R"({"role":"assistant","content":"d","reasoning_content":"e"}])");
}

TEST(Messages, have_the_arguments_of_calls_as_objects) {
  EXPECT_EQ(
      read(
          R"([{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"b\": 1, \"a\": []}"}}]},
                     {"role":"tool","tool_call_id":"x","content":"7"}])"),
      R"([{"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"f","arguments":{"b":1,"a":[]}},"id":"x"}]},)"
      R"({"role":"tool","content":"7","tool_call_id":"x"}])");
}

TEST(Messages, with_broken_arguments_are_refused) {
  for (const char* arguments : {"", "{", "[]", "7", "null", "{}}", "\\\"{}\\\"", "{},\\\"arguments\\\":{}", " ",
                                "{\\\"id\\\":18446744073709551616}"})
    EXPECT_EQ(param_of(R"([{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":")" +
                       std::string(arguments) + R"("}}]}])"),
              "messages[0].tool_calls[0].function.arguments")
        << arguments;
}

TEST(Messages, of_another_form_are_refused_by_their_place) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "messages"},
      {"{}", "messages"},
      {"null", "messages"},
      {"[7]", "messages[0]"},
      {R"([{"content":"a"}])", "messages[0].role"},
      {R"([{"role":"robot","content":"a"}])", "messages[0].role"},
      {R"([{"role":"user"}])", "messages[0].content"},
      {R"([{"role":"assistant"}])", "messages[0].content"},
      {R"([{"role":"user","content":7}])", "messages[0].content"},
      {R"([{"role":"user","content":[{"type":"image_url","image_url":{}}]}])", "messages[0].content[0]"},
      {R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text"},
      {R"([{"role":"user","content":["a"]}])", "messages[0].content[0]"},
      {R"([{"role":"user","content":"a","tool_calls":[]}])", "messages[0].tool_calls"},
      {R"([{"role":"user","content":"a","colour":1}])", "messages[0].colour"},
      {R"([{"role":"tool","content":"a"}])", "messages[0].tool_call_id"},
      {R"([{"role":"assistant","tool_calls":[]}])", "messages[0].tool_calls"},
      {R"([{"role":"assistant","tool_calls":[{}]}])", "messages[0].tool_calls[0].function"},
      {R"([{"role":"assistant","content":"a","function_call":{}}])", "messages[0].function_call"},
  };
  for (const auto& [list, param] : cases) EXPECT_EQ(param_of(list), param) << list;
}

TEST(Messages, are_rendered_with_tools_and_the_template_s_own_arguments) {
  const chat::ChatTemplate form(
      "{{ tools[0].function.name }}/{{ messages[1].tool_calls[0].function.arguments.a }}/{{ mood }}", "t");
  const OrderedJson messages = template_messages(OrderedJson::parse(
      R"([{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":5}"}}]}])"));
  const std::string text = conversation_of(messages, OrderedJson::parse(R"([{"function":{"name":"f"}}])"),
                                           OrderedJson::parse(R"({"mood":"fine"})"))
                               .dump();
  EXPECT_EQ(form.render(chat::Conversation::read(text, "the request"), {}).bytes(), "f/5/fine");
}

TEST(Messages, keep_the_server_s_own_arguments_of_the_template) {
  const auto arguments = [](const char* text) { conversation_of({}, {}, OrderedJson::parse(text)); };
  for (const char* text : {R"({"messages":[]})", R"({"bos_token":"x"})", R"({"tools":[]})"})
    EXPECT_THAT(refused_by([&] { arguments(text); }).param, ::testing::StartsWith("chat_template_kwargs."));
  EXPECT_EQ(refused_by([&] { arguments("7"); }).param, "chat_template_kwargs");
}

}  // namespace
}  // namespace tandem::serve
