// A prompt as a user's turn by a model's own chat template, where that renders ChatML.
//
// ChatML: turns of `<|im_start|>ROLE`, a newline, what is said, and `<|im_end|>`. A template is recognised by what it
// renders for one user's message: perhaps a start token, perhaps a system message of its own, the user's turn, and the
// beginning of the assistant's.
// Contract: the parts joined are the template's rendering. Only the template's parts may hold special tokens. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/model/tokenizer.h"

namespace tandem {

inline constexpr const char* kChatMlEnd = "<|im_end|>";

struct ChatPrompt {
  std::vector<TextPart> parts;  // empty where the template is no ChatML
  std::string why_not;          // for people: "it uses `raise_exception()`"
  bool known() const { return !parts.empty(); }
};

ChatPrompt user_turn(const std::string& chat_template, const Tokenizer& tokenizer, const std::string& text);

}  // namespace tandem
