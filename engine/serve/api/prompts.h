// Makes the token ids of requests: plain texts, and conversations by the model's chat template.
//
// Contract: thread-safe. Refers to the tokenizer, which must outlive it. ApiError: a conversation that the template
// refuses, or a model without one; a prompt without tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/chat_template/model_chat.h"
#include "engine/serve/api/ask.h"

namespace tandem::serve {

class Prompts {
 public:
  // source: of the chat template; absent: the model has none.
  Prompts(const Tokenizer& tokenizer, const std::optional<chat::TemplateSource>& source);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::vector<int32_t> ids(const Ask::Prompt& prompt) const;
  std::vector<int32_t> ids(const Ask& chat) const;
  std::string rendered(const Ask& chat) const;
  std::vector<std::string> stop_texts() const;  // that end an answer of a chat

 private:
  chat::Text text(const Ask& chat) const;
  chat::Text text(Json messages, const Ask& chat) const;
  const Tokenizer& tokenizer_;
  std::optional<chat::ModelChat> chat_;
};

}  // namespace tandem::serve
