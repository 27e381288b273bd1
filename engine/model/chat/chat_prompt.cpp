#include "engine/model/chat/chat_prompt.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/model/chat/template_blocks.h"
#include "engine/model/chat/template_rendering.h"

namespace tandem {
namespace {

constexpr std::string_view kStart = "<|im_start|>", kSystem = "<|im_start|>system\n", kUser = "<|im_start|>user\n",
                           kAssistant = "<|im_start|>assistant", kEnd = kChatMlEnd;

bool take(std::string_view& text, std::string_view beginning) {
  const bool found = text.starts_with(beginning);
  if (found) text.remove_prefix(beginning.size());
  return found;
}
void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size())); }

// Whether the text before the user's is: [start token] [system message] the beginning of the user's turn.
bool begins_chatml(std::string_view text, const std::string& bos) {
  if (!bos.empty() && bos != kStart) take(text, bos);
  skip_blanks(text);
  if (take(text, kSystem)) {
    const size_t end = text.find(kEnd);
    if (end == std::string_view::npos || text.substr(0, end).find(kStart) != std::string_view::npos) return false;
    text.remove_prefix(end + kEnd.size());
    skip_blanks(text);
  }
  return text == kUser;
}

// Whether the text after the user's is the turn's end and the beginning of the answer. A thought may begin there too.
bool ends_chatml(std::string_view text) {
  if (!take(text, kEnd)) return false;
  skip_blanks(text);
  return take(text, kAssistant) && (text.empty() || text.front() == '\n') &&
         text.find(kStart) == std::string_view::npos && text.find(kEnd) == std::string_view::npos;
}

std::string text_of(const Tokenizer& tokenizer, int32_t id) { return id < 0 ? "" : tokenizer.piece(id, true); }

}  // namespace

// Renders the template with the user's text, then checks the rendering. ChatML leaves three stretches: the template's,
// the user's (perhaps with blanks cut off), the template's.
ChatPrompt user_turn(const std::string& chat_template, const Tokenizer& tokenizer, const std::string& text) {
  const TemplateInput input{text, text_of(tokenizer, tokenizer.bos()), text_of(tokenizer, tokenizer.eos())};
  MarkedText rendered;
  try {
    rendered = render_user_turn(chat_template, input);
  } catch (const TemplateRefused& refused) {
    return {{}, std::string("it uses ") + refused.what()};
  }
  auto& parts = rendered.stretches;
  const bool is_chatml = parts.size() == 3 && !parts[0].of_user && parts[1].of_user &&
                         text.find(parts[1].text) != std::string::npos &&  // once; its blanks may be cut off
                         begins_chatml(parts[0].text, input.bos_token) && ends_chatml(parts[2].text);
  if (!is_chatml) return {{}, "its form is another than ChatML's"};
  // Only the template's own stretches may contain special tokens. A user's text that spells one stays plain text.
  ChatPrompt prompt;
  for (auto& part : parts) prompt.parts.push_back({std::move(part.text), !part.of_user});
  return prompt;
}

}  // namespace tandem
