// Renders a chat template for one user turn, as far as ChatML templates need it.
//
// Contract: this implements a part of Jinja: for, if, set, macros that are not called, and the expressions of
// template_expression.h. A template that needs more to render one user message is TemplateRefused, with the name of
// what it needs. Other branches (tools, documents, other messages) may use anything. Bounded in time and memory for any
// template. Pure.
#pragma once

#include <string>
#include <string_view>

#include "engine/model/chat/marked_text.h"

namespace tandem {

struct TemplateInput {
  std::string user;                  // text of the only message
  std::string bos_token, eos_token;  // as text; "": the model has none
};

// Renders the conversation and the beginning of the answer (add_generation_prompt).
MarkedText render_user_turn(std::string_view chat_template, const TemplateInput& input);

}  // namespace tandem
