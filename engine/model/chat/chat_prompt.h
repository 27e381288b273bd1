// Makes a prompt of a user's text with the model's own chat template, if that renders ChatML.
//
// ChatML consists of turns: `<|im_start|>ROLE`, a newline, the text, and `<|im_end|>`. A template is recognised by its
// rendering of one user message. This may begin with a start token and a system message. Then come the user's turn and
// the beginning of the assistant's turn.
// Contract: all parts together are the template's rendering. Only the template's own parts may hold special
// tokens. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/model/tokenizer.h"

namespace tandem {

inline constexpr const char* kChatMlEnd = "<|im_end|>";

struct ChatPrompt {
  std::vector<TextPart> parts;  // empty if the template does not render ChatML
  std::string why_not;          // the reason, for people: "it uses `raise_exception()`"
  bool known() const { return !parts.empty(); }
};

ChatPrompt user_turn(const std::string& chat_template, const Tokenizer& tokenizer, const std::string& text);

}  // namespace tandem
