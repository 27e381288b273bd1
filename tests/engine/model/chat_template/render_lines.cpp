// Renders templates for a comparison with Jinja: a JSON object {"template", "conversation"} a line on standard input,
// an object {"text"}, {"refusal"} or {"error"} a line on standard output. differential.py starts it.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/model/chat_template/chat_template.h"

int main() {
  using nlohmann::json;
  using namespace tandem;
  chat::RenderOptions options;
  options.now = *chat::read_time("2026-02-03T04:05:06");
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      const json asked = json::parse(line);
      const chat::ChatTemplate form(asked.at("template").get<std::string>(), "template");
      const auto conversation = chat::Conversation::read(asked.at("conversation").get<std::string>(), "conversation");
      answer = {{"text", form.render(conversation, options).bytes()}};
    } catch (const chat::TemplateRefusal& refusal) {
      answer = {{"refusal", refusal.failure()}};
    } catch (const Error& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}
