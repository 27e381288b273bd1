// These requests are llama.cpp's, so their members and defaults are those of its server.
#include "engine/serve/api/small_asks.h"

#include "engine/serve/openai/messages.h"

namespace tandem::serve {

TokenizeAsk read_tokenize(const Json& body, const AskRules& rules) {
  Fields fields(body);
  TokenizeAsk ask;
  const auto content = fields.text("content");
  if (!content) fields.refuse("content", "a text");
  ask.content = *content;
  ask.add_special = fields.flag("add_special").value_or(false);
  ask.parse_special = fields.flag("parse_special").value_or(true);
  ask.with_pieces = fields.flag("with_pieces").value_or(false);
  fields.finish({"model"}, rules.lenient);
  return ask;
}

std::vector<int32_t> read_detokenize(const Json& body, const AskRules& rules) {
  Fields fields(body);
  const Json* tokens = fields.find("tokens");
  const auto ids = tokens ? token_ids(*tokens, rules.vocabulary) : std::nullopt;
  if (!ids) fields.refuse("tokens", "a list of token ids below " + std::to_string(rules.vocabulary));
  fields.finish({"model"}, rules.lenient);
  return *ids;
}

// Shares the readers of messages and tools with a chat, so it shows the prompt that a chat would have.
Ask read_apply_template(const Json& body, const AskRules& rules) {
  Fields fields(body);
  const Json* messages = fields.find("messages");
  Ask ask;
  ask.messages = template_messages(messages ? *messages : Json());
  for (const char* name : {"tools", "tool_choice", "parallel_tool_calls"}) fields.find(name);
  ask.tools = read_tools(body);
  ask.begins_answer = fields.flag("add_generation_prompt").value_or(true);
  if (const Json* arguments = fields.find("chat_template_kwargs")) ask.template_arguments = *arguments;
  fields.finish({"model"}, rules.lenient);
  return ask;
}

}  // namespace tandem::serve
