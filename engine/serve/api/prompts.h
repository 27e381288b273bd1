// Makes the token ids of requests: plain texts, and conversations by the model's chat template.
//
// Contract: thread-safe. Refers to the tokenizer, which must outlive it. ApiError: a conversation that the template
// refuses, or a model without one; a prompt without tokens, or too long.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/chat_template/model_chat.h"
#include "engine/serve/api/ask.h"
#include "engine/serve/openai/reply_reader.h"

namespace tandem::serve {

// The chat templates of a model; absent: it has none. with_tools: of conversations that offer functions.
struct Templates {
  std::optional<chat::TemplateSource> usual, with_tools;
};

class Prompts {
 public:
  // context: most tokens of a text.
  Prompts(const Tokenizer& tokenizer, const Templates& templates, int64_t context);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::vector<int32_t> ids(const Ask::Prompt& prompt) const;
  chat::Text text(const Ask& chat) const;
  std::vector<int32_t> ids(const chat::Text& conversation) const;
  // How the answer to this conversation, which was rendered so, is read. ApiError: functions are offered, and the
  // template knows none.
  ReplyRules reply_rules(const Ask& chat, const chat::Text& rendered) const;
  std::vector<std::string> stop_texts() const;  // that end an answer of a chat

 private:
  const chat::ModelChat& chat_for(const Ask& chat) const;
  ApiError too_long(const std::string& length, const char* param) const;
  void require_may_fit(const std::string& text, const char* param) const;
  std::vector<int32_t> fitting(std::vector<int32_t> ids, const char* param) const;
  const Tokenizer& tokenizer_;
  const int64_t context_, most_bytes_;  // most_bytes_: of a text that could fit
  const Templates templates_;
  std::optional<chat::ModelChat> chat_, tool_chat_;
};

}  // namespace tandem::serve
