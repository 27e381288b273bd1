// Checks the messages of a chat and turns them into the form that templates expect. A template is a program of the
// model's author, so it should only meet values that were checked before.
#include "engine/serve/openai/messages.h"

#include "engine/serve/openai/members.h"
#include "engine/serve/openai/written_call.h"
#include "sync/json_text.h"

namespace tandem::serve {
namespace {

// A text, or a list of parts that are texts.
std::string joined_content(const OrderedJson& content, const std::string& place) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) refuse(place, "a text or a list of parts");
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const std::string part_place = place + "[" + std::to_string(i) + "]";
    if (!content[i].is_object()) refuse(part_place, "an object");
    const std::string type = text_member(content[i], "type", part_place);
    if (type != "text")
      throw Refusal("\"" + part_place + "\" is a part of the type \"" + type + "\". This model reads texts alone.",
                    part_place, "unsupported_value");
    text += text_member(content[i], "text", part_place);
    require_members(content[i], part_place, {"type", "text"});
  }
  return text;
}

// Clients send arguments as a text that contains JSON, and templates want the object itself.
OrderedJson read_arguments(const OrderedJson& function, const std::string& place) {
  const std::string text = text_member(function, "arguments", place);
  if (!is_object_text(text)) refuse(place + ".arguments", "a JSON object, written as a text");
  if (json_flaw(text, kDeepestCall).kind == JsonFlaw::Kind::digits)
    refuse(place + ".arguments", "a JSON object whose whole numbers have at most 64 bits");
  return OrderedJson::parse(text);
}

// Calls of earlier turns. A call keeps its id, because the message with its result names that id.
OrderedJson read_past_calls(const OrderedJson& list, const std::string& place) {
  if (!list.is_array() || list.empty()) refuse(place, "a list of calls");
  OrderedJson calls = OrderedJson::array();
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string call_place = place + "[" + std::to_string(i) + "]";
    if (!list[i].is_object()) refuse(call_place, "an object");
    require_members(list[i], call_place, {"id", "type", "function", "index"});
    if (const OrderedJson* type = member(list[i], "type"); type && *type != "function")
      refuse(call_place + ".type", "\"function\"");
    const OrderedJson* function = member(list[i], "function");
    if (!function || !function->is_object()) refuse(call_place + ".function", "an object");
    require_members(*function, call_place + ".function", {"name", "arguments"});
    OrderedJson call = {{"type", "function"},
                        {"function",
                         {{"name", text_member(*function, "name", call_place + ".function")},
                          {"arguments", read_arguments(*function, call_place + ".function")}}}};
    if (member(list[i], "id")) call["id"] = text_member(list[i], "id", call_place);
    calls.push_back(std::move(call));
  }
  return calls;
}

// The role "developer" is OpenAI's newer name of "system", and templates know the old one only.
std::string role_of(const OrderedJson& message, const std::string& place) {
  const OrderedJson* role = member(message, "role");
  if (role && *role == "developer") return "system";
  for (const char* known : {"system", "user", "assistant", "tool"})
    if (role && *role == known) return known;
  refuse(place + ".role", "system, developer, user, assistant or tool");
}

// Each role has its own members, and a member of another role is refused by name. The result is what templates expect:
// a role, one text, and calls with parsed arguments.
OrderedJson read_message(const OrderedJson& message, const std::string& place) {
  if (!message.is_object()) refuse(place, "an object");
  const std::string role = role_of(message, place);
  const bool is_answer = role == "assistant", is_result = role == "tool";
  if (is_answer)
    require_members(message, place,
                    {"role", "content", "name", "tool_calls", "reasoning_content", "refusal", "audio", "annotations",
                     "function_call"});
  else if (is_result)
    require_members(message, place, {"role", "content", "name", "tool_call_id"});
  else
    require_members(message, place, {"role", "content", "name"});
  for (const char* none : {"refusal", "audio", "function_call"})
    if (member(message, none)) refuse(place + "." + none, "absent");
  OrderedJson read = {{"role", role}, {"content", ""}};
  const OrderedJson *content = member(message, "content"), *calls = member(message, "tool_calls");
  if (content) read["content"] = joined_content(*content, place + ".content");
  if (!content && !calls) refuse(place + ".content", is_answer ? "a text, where there are no tool_calls" : "a text");
  if (calls) read["tool_calls"] = read_past_calls(*calls, place + ".tool_calls");
  for (const char* name : {"name", "reasoning_content"})
    if (member(message, name)) read[name] = text_member(message, name, place);
  if (is_result) read["tool_call_id"] = text_member(message, "tool_call_id", place);
  return read;
}

}  // namespace

// A place such as "messages[2]" goes down with each message, and becomes a part of every refusal.
OrderedJson template_messages(const OrderedJson& list, const std::string& place) {
  if (!list.is_array() || list.empty()) refuse(place, "a list with at least one message");
  OrderedJson messages = OrderedJson::array();
  for (size_t i = 0; i < list.size(); ++i)
    messages.push_back(read_message(list[i], place + "[" + std::to_string(i) + "]"));
  return messages;
}

// Extra arguments of the template come from the client. Names that the server sets itself are refused, because a client
// could otherwise replace the messages that were checked.
OrderedJson conversation_of(const OrderedJson& messages, const OrderedJson& tools, const OrderedJson& arguments) {
  OrderedJson conversation = {{"messages", messages}};
  if (!tools.is_null()) conversation["tools"] = tools;
  if (arguments.is_null()) return conversation;
  const std::string place = "chat_template_kwargs";
  if (!arguments.is_object()) refuse(place, "an object");
  for (const char* own : {"messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token"})
    if (arguments.contains(own)) refuse(place + "." + own, "absent, since the server sets it");
  conversation[place] = arguments;
  return conversation;
}

}  // namespace tandem::serve
