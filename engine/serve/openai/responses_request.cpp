// Reads a request of /v1/responses by turning it into a request of a chat. So there is one reader of settings and
// tools, and this file only knows how the two forms differ.
#include <algorithm>
#include <string_view>

#include "engine/serve/openai/members.h"
#include "engine/serve/openai/responses.h"

namespace tandem::serve {
namespace {

// Parts have other types here: input_text and output_text.
OrderedJson content_of_input(const OrderedJson& content, const std::string& place) {
  if (content.is_string()) return content;
  if (!content.is_array()) refuse(place, "a text or a list of parts");
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string part = place + "[" + std::to_string(i) + "]";
    if (!content[i].is_object()) refuse(part, "an object");
    const std::string type = text_member(content[i], "type", part);
    if (type != "input_text" && type != "output_text" && type != "text")
      throw Refusal("\"" + part + "\" is a part of the type \"" + type + "\". This model reads texts alone.", part,
                    "unsupported_value");
    text += text_member(content[i], "text", part);
  }
  return text;
}

// Calls and thoughts of one turn are items of their own here, and parts of one message in a chat.
void add_call(const OrderedJson& item, const std::string& place, OrderedJson& messages) {
  OrderedJson call = {
      {"id", text_member(item, "call_id", place)},
      {"type", "function"},
      {"function", {{"name", text_member(item, "name", place)}, {"arguments", text_member(item, "arguments", place)}}}};
  if (messages.empty() || messages.back()["role"] != "assistant")
    messages.push_back({{"role", "assistant"}, {"content", nullptr}});
  messages.back()["tool_calls"].push_back(std::move(call));
}

std::string known_role(const OrderedJson& item, const std::string& place) {
  const std::string role = text_member(item, "role", place);
  for (const char* known : {"system", "developer", "user", "assistant"})
    if (role == known) return role;
  refuse(place + ".role", "system, developer, user or assistant");
}

// An item of the input becomes a message, or a part of the message before it. An item without a type is a message,
// since clients send {"role", "content"} alone.
void add_item(const OrderedJson& item, const std::string& place, OrderedJson& messages) {
  if (!item.is_object()) refuse(place, "an object");
  const std::string type = member(item, "type") ? text_member(item, "type", place) : "message";
  if (type == "message") {
    const std::string role = known_role(item, place);
    const OrderedJson* content = member(item, "content");
    if (!content) refuse(place + ".content", "a text or a list of parts");
    messages.push_back({{"role", role}, {"content", content_of_input(*content, place + ".content")}});
  } else if (type == "function_call") {
    add_call(item, place, messages);
  } else if (type == "function_call_output") {
    messages.push_back({{"role", "tool"},
                        {"tool_call_id", text_member(item, "call_id", place)},
                        {"content", text_member(item, "output", place)}});
  } else if (type != "reasoning") {  // earlier thoughts are not shown to the model again
    throw Refusal("\"" + place + "\" is an item of the type \"" + type +
                      "\". Known are message, function_call, function_call_output and reasoning.",
                  place + ".type", "unsupported_value");
  }
}

// The instructions come first as a system message. An input that is one text is the message of a user.
OrderedJson messages_of(const OrderedJson& body) {
  OrderedJson messages = OrderedJson::array();
  if (member(body, "instructions"))
    messages.push_back({{"role", "system"}, {"content", text_member(body, "instructions", "")}});
  const OrderedJson* input = member(body, "input");
  if (!input || (!input->is_string() && !input->is_array()) || input->empty())
    refuse("input", "a text, or a list with at least one item");
  if (input->is_string())
    messages.push_back({{"role", "user"}, {"content", *input}});
  else
    for (size_t i = 0; i < input->size(); ++i) add_item((*input)[i], "input[" + std::to_string(i) + "]", messages);
  return messages;
}

// A JSON schema stands directly in "text.format" here, while a chat has it one level deeper under "json_schema".
void add_format(const OrderedJson& text, OrderedJson& chat) {
  if (!text.is_object()) refuse("text", "an object");
  require_members(text, "text", {"format"});
  const OrderedJson* format = member(text, "format");
  if (!format) return;
  if (!format->is_object()) refuse("text.format", "an object");
  const std::string type = text_member(*format, "type", "text.format");
  if (type == "json_schema") {
    OrderedJson inner = *format;
    inner.erase("type");
    if (!member(inner, "schema")) refuse("text.format.schema", "a JSON schema");
    chat["response_format"] = {{"type", "json_schema"}, {"json_schema", inner}};
  } else if (type == "json_object" || type == "text") {
    chat["response_format"] = *format;
  } else {
    refuse("text.format.type", "text, json_object or json_schema");
  }
}

// A function's members stand beside its type here.
OrderedJson tools_of(const OrderedJson& list) {
  if (!list.is_array()) refuse("tools", "a list of functions");
  OrderedJson tools = OrderedJson::array();
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = "tools[" + std::to_string(i) + "]";
    if (!list[i].is_object()) refuse(place, "an object");
    if (text_member(list[i], "type", place) != "function")
      throw Refusal("\"" + place + "\" is no function. This server has no tools of its own.", place + ".type",
                    "unsupported_value");
    OrderedJson function = list[i];
    function.erase("type");
    tools.push_back({{"type", "function"}, {"function", function}});
  }
  return tools;
}

// The choices "none", "auto" and "required" are spelt alike in both forms. Only the choice of one function differs.
OrderedJson choice_of(const OrderedJson& choice) {
  if (!choice.is_object()) return choice;
  if (!member(choice, "type") || choice["type"] != "function")
    refuse("tool_choice", R"("none", "auto", "required", or {"type":"function","name":...})");
  return {{"type", "function"}, {"function", {{"name", text_member(choice, "name", "tool_choice")}}}};
}

// These members need a state, or another service behind the server.
void refuse_state(const OrderedJson& body) {
  for (const char* name : {"previous_response_id", "conversation", "prompt", "max_tool_calls"})
    if (member(body, name))
      throw Refusal("\"" + std::string(name) +
                        "\" is not supported: this server keeps no responses. Send the whole "
                        "conversation in \"input\".",
                    name, "unsupported_parameter");
  for (const char* name : {"store", "background"})
    if (const OrderedJson* flag = member(body, name); flag && *flag != false)
      throw Refusal("\"" + std::string(name) + "\" is expected to be false: this server keeps no responses.", name,
                    "unsupported_value");
  if (const OrderedJson* cut = member(body, "truncation"); cut && *cut != "disabled")
    throw Refusal("\"truncation\" is expected to be \"disabled\": nothing is cut in silence.", "truncation",
                  "unsupported_value");
  if (const OrderedJson* most = member(body, "top_logprobs"); most && *most != 0)
    throw Refusal("\"top_logprobs\" is expected to be 0: a response has no log-probabilities.", "top_logprobs",
                  "unsupported_value");
  if (const OrderedJson* more = member(body, "include"); more && !(more->is_array() && more->empty()))
    throw Refusal("\"include\" is expected to be an empty list.", "include", "unsupported_value");
}

// If refuse_state() takes one value of a member, the schema names that value.
constexpr OwnMember kOwn[] = {
    {"input", R"({"description": "a text, or a list of items: messages, calls and their outputs"})"},
    {"instructions", R"({"type": "string"})"},
    {"text", R"({"type": "object", "description": "format: as response_format of a chat"})"},
    {"tools", R"({"type": "array", "description": "functions, with a name and parameters each"})"},
    {"tool_choice", R"({"description": "none, auto, required, or {type: function, name}"})"},
    {"store", R"({"type": "boolean", "enum": [false]})"},
    {"background", R"({"type": "boolean", "enum": [false]})"},
    {"truncation", R"({"type": "string", "enum": ["disabled"]})"},
    {"include", R"({"type": "array", "maxItems": 0})"},
    {"conversation", R"({"type": "null"})"},
    {"prompt", R"({"type": "null"})"},
    {"previous_response_id", R"({"type": "null"})"},
    {"max_tool_calls", R"({"type": "null"})"},
    {"max_output_tokens", R"({"type": "integer", "minimum": 1})"},
    {"top_logprobs", R"({"type": "integer", "minimum": 0, "maximum": 0})"},
};
// These belong to a chat alone.
constexpr std::string_view kOfChats[] = {"messages",        "n",        "max_tokens",    "max_completion_tokens",
                                         "response_format", "logprobs", "stream_options"};

}  // namespace

std::span<const OwnMember> own_members_of_responses() { return kOwn; }
std::span<const std::string_view> members_of_chats_alone() { return kOfChats; }

// Translates a request of the Responses API into that of a chat. Names that only one of the two has are translated or
// refused, so a member never means something else than it says.
OrderedJson chat_body_of_response(const OrderedJson& body) {
  refuse_state(body);
  OrderedJson chat = {{"messages", messages_of(body)}};
  for (const auto& [name, value] : body.items()) {
    if (std::ranges::find(kOfChats, name) != std::end(kOfChats)) {
      if (value.is_null()) continue;
      throw Refusal("The member \"" + name + "\" is not known here.", name, "unknown_parameter");
    }
    if (std::ranges::find(kOwn, name, &OwnMember::name) == std::end(kOwn)) chat[name] = value;
  }
  if (const OrderedJson* most = member(body, "max_output_tokens")) {
    if (!most->is_number_integer() || *most < 1) refuse("max_output_tokens", "a whole number from 1");
    chat["max_completion_tokens"] = *most;
  }
  if (const OrderedJson* text = member(body, "text")) add_format(*text, chat);
  if (const OrderedJson* tools = member(body, "tools")) chat["tools"] = tools_of(*tools);
  if (const OrderedJson* choice = member(body, "tool_choice")) chat["tool_choice"] = choice_of(*choice);
  return chat;
}

}  // namespace tandem::serve
