// Renders a chat template for one user's turn, as far as ChatML templates need it.
//
// Contract: this is a part of Jinja (for, if, set, macros that are not called, and the expressions of
// template_expression.h). A template that uses more on its way through one user's message is TemplateRefused, with
// what it uses; what it would use only for tools, documents or other messages does not matter. Bounded in time and
// memory for any template. Pure.
#pragma once

#include <string>
#include <string_view>

#include "engine/model/chat/marked_text.h"

namespace tandem {

struct TemplateInput {
  std::string user;                  // what the only message says
  std::string bos_token, eos_token;  // as text; "": there is none
};

// The conversation and the beginning of the answer (add_generation_prompt).
MarkedText render_user_turn(std::string_view chat_template, const TemplateInput& input);

}  // namespace tandem
