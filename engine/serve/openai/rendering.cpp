#include "engine/serve/openai/rendering.h"

#include <string>
#include <utility>

#include "sync/json_text.h"

namespace tandem::serve {
namespace {

chat::Text render(const chat::ModelChat& chat, OrderedJson conversation, bool begins_answer) {
  OrderedJson& messages = conversation["messages"];
  const bool continues = begins_answer && messages.size() > 1 && messages.back().at("role") == "assistant" &&
                         messages.back().contains("content") && messages.back()["content"].is_string() &&
                         !messages.back().contains("tool_calls");
  const std::string begun = continues ? messages.back().at("content").get<std::string>() : "";
  if (continues) messages.erase(messages.size() - 1);
  chat::Text text = chat.text(chat::Conversation::read(json_line(conversation), "the request"),
                              {.add_generation_prompt = begins_answer});
  if (continues) text.append(begun, chat::Author::conversation);
  return text;
}

}  // namespace

chat::Text render_conversation(const chat::ModelChat& chat, const OrderedJson& conversation, bool begins_answer) {
  const OrderedJson& messages = conversation.at("messages");
  const bool has_system = messages.size() > 1 && messages[0].at("role") == "system" && messages[1].at("role") == "user";
  try {
    return render(chat, conversation, begins_answer);
  } catch (const chat::TemplateRefusal&) {
    if (!has_system) throw;
    OrderedJson moved = conversation;
    OrderedJson& list = moved["messages"];
    list[1]["content"] = list[0].at("content").get<std::string>() + "\n\n" + list[1].at("content").get<std::string>();
    list.erase(0);
    return render(chat, std::move(moved), begins_answer);
  }
}

}  // namespace tandem::serve
