#include "engine/serve/api/prompts.h"

namespace tandem::serve {

Prompts::Prompts(const Tokenizer& tokenizer, const std::optional<chat::TemplateSource>& source)
    : tokenizer_(tokenizer) {
  if (source) chat_.emplace(*source, tokenizer);
}

// A pass needs a token, because the first generated one comes from the logits of the token in front of it.
std::vector<int32_t> Prompts::ids(const Ask::Prompt& prompt) const {
  if (!prompt.ids.empty()) return prompt.ids;
  std::vector<int32_t> ids = tokenizer_.encode(prompt.text, {});
  if (ids.empty() && tokenizer_.bos() >= 0) ids.push_back(tokenizer_.bos());
  if (ids.empty())
    throw ApiError(400, "The prompt is empty, and this model has no start token.", "prompt", "invalid_value");
  return ids;
}

std::vector<int32_t> Prompts::ids(const Ask& chat) const {
  const chat::Text rendered = text(chat);
  try {
    return chat_->prompt(rendered);
  } catch (const Error& error) {
    throw ApiError(400, error.what(), "messages", "invalid_value");
  }
}

std::string Prompts::rendered(const Ask& chat) const { return text(chat).bytes(); }

std::vector<std::string> Prompts::stop_texts() const {
  return chat_ ? chat_->stop_texts() : std::vector<std::string>();
}

// An answer that is begun already is continued: it stands behind the beginning of an answer.
chat::Text Prompts::text(Json messages, const Ask& chat) const {
  const bool continues = messages.size() > 1 && messages.back().at("role") == "assistant";
  const std::string begun = continues ? messages.back().at("content").get<std::string>() : "";
  if (continues) messages.erase(messages.size() - 1);
  Json conversation = {{"messages", std::move(messages)}};
  if (!chat.template_arguments.is_null()) conversation["chat_template_kwargs"] = chat.template_arguments;
  chat::Text text = chat_->text(chat::Conversation::read(conversation.dump(), "the request"), {});
  if (continues) text.append(begun, chat::Author::conversation);
  return text;
}

// A template that refuses a system message gets its words in front of the first user's.
chat::Text Prompts::text(const Ask& chat) const {
  if (!chat_)
    throw ApiError(400,
                   "The model has no chat template. Use /v1/completions, or start the server with --chat-template.",
                   "messages", "no_chat_template");
  const Json& messages = chat.messages;
  const bool has_system = messages.size() > 1 && messages[0].at("role") == "system" && messages[1].at("role") == "user";
  try {
    try {
      return text(messages, chat);
    } catch (const chat::TemplateRefusal&) {
      if (!has_system) throw;
      Json moved = messages;
      moved[1]["content"] =
          messages[0].at("content").get<std::string>() + "\n\n" + messages[1].at("content").get<std::string>();
      moved.erase(0);
      return text(std::move(moved), chat);
    }
  } catch (const Error& error) {
    throw ApiError(400, std::string("The chat template refuses this conversation: ") + error.what(), "messages",
                   "template_error");
  }
}

}  // namespace tandem::serve
