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
  std::vector<int32_t> ids = chat_ ? chat_->prompt(text(chat.messages, chat.enable_thinking)) : std::vector<int32_t>();
  if (!chat_) text(chat.messages, {});  // refuses
  if (ids.empty()) throw ApiError(400, "The conversation has no tokens.", "messages", "invalid_value");
  return ids;
}

std::string Prompts::rendered(const std::vector<chat::Message>& messages, std::optional<bool> enable_thinking) const {
  return std::string(text(messages, enable_thinking).bytes());
}

std::vector<std::string> Prompts::stop_texts() const {
  return chat_ ? chat_->stop_texts() : std::vector<std::string>();
}

// A template that refuses a system message gets its words in front of the first user's.
chat::Text Prompts::text(const std::vector<chat::Message>& messages, std::optional<bool> enable_thinking) const {
  if (!chat_)
    throw ApiError(400,
                   "The model has no chat template. Use /v1/completions, or start the server with --chat-template.",
                   "messages", "no_chat_template");
  const chat::ModelChat::Options options{.add_generation_prompt = true, .enable_thinking = enable_thinking};
  const bool has_system = messages.size() > 1 && messages[0].role == "system" && messages[1].role == "user";
  try {
    try {
      return chat_->text(messages, options);
    } catch (const chat::TemplateRefusal&) {
      if (!has_system) throw;
      std::vector<chat::Message> moved(messages.begin() + 1, messages.end());
      moved.front().content = messages.front().content + "\n\n" + moved.front().content;
      return chat_->text(moved, options);
    }
  } catch (const Error& error) {
    throw ApiError(400, std::string("The chat template refuses this conversation: ") + error.what(), "messages",
                   "template_error");
  }
}

}  // namespace tandem::serve
