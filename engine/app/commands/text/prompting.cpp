// From flags to a prompt: the chat template, predictions, histories and options. Commands that write one text or many
// all begin here.
#include "engine/app/commands/text/prompting.h"

#include <cstdio>
#include <utility>

#include "engine/app/commands/text/generation.h"
#include "engine/app/text_input.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

// The reason in a user's words, with the flag that changes it.
std::string why_empty(StopReason reason, bool is_chat, bool has_template) {
  switch (reason) {
    case StopReason::end_of_text:
      if (is_chat) return "the model ended its answer at once; --ignore-eos goes on";
      if (!has_template) return "the model ended the text at once; --ignore-eos goes on";
      return "the model ended the text at once; with --chat it answers the prompt as a user's question";
    case StopReason::length:
      return "no more tokens were asked for (--predict)";
    case StopReason::stop_string:
      return "the text began with a --stop text";
    case StopReason::context_full:
      return "the context is full; ask for a larger one with --ctx-size";
    case StopReason::interrupted:
      return "it was interrupted";
    case StopReason::not_finite:
      return "its logits are not finite";
  }
  return "";
}

}  // namespace

// A file of the user's wins over a name, and a name over the model's own template.
std::optional<chat::TemplateSource> chosen_template(const CommonFlags& flags, const GgufFile* model, bool has_tools) {
  if (!flags.chat_template_file.empty())
    return chat::TemplateSource{read_file(flags.chat_template_file), flags.chat_template_file};
  if (!flags.chat_template.empty()) return chat::known_template(flags.chat_template);
  return model == nullptr ? std::nullopt : chat::template_of(*model, has_tools);
}

// Without --chat the model's template only decides what a note says, so one that cannot be used is no error.
Prompting::Prompting(const CommonFlags& flags, const LoadedModel& model)
    : flags_(flags),
      tokenizer_(model.tokenizer()),
      has_template_(!model.file().type_of(chat::kTemplateKey).empty()),
      draft_texts_(flags, tokenizer_) {
  if (flags.chat)
    if (const auto source = chosen_template(flags, &model.file(), false)) chat_.emplace(*source, tokenizer_);
}

// All notes about the prompt's sources, printed once before the first text.
void Prompting::print_note() const {
  if (flags_.quiet()) return;
  draft_texts_.print_notes();
  if (!flags_.chat || is_chat()) return;
  std::fprintf(stderr,
               "note: the model has no chat template; the text is continued instead of answered (--chat; "
               "--chat-template gives it one)\n");
}

std::vector<int32_t> Prompting::ids(const std::string& text) const {
  return is_chat() ? chat_->prompt({{"user", text}}, {}) : prompt_ids(flags_, text, tokenizer_);
}

// The template's stop texts end a chat's answer, as an end token does.
GenerateOptions Prompting::options() const {
  GenerateOptions options = generate_options(flags_);
  draft_texts_.give_to(options.spec);
  if (is_chat() && !options.ignore_end)
    options.stop.insert(options.stop.end(), chat_->stop_texts().begin(), chat_->stop_texts().end());
  return options;
}

// An empty answer is explained, because a user would look for the fault elsewhere.
void Prompting::explain_empty(const Generation& result, const std::string& name) const {
  if (result.text.find_first_not_of(" \t\r\n") != std::string::npos) return;
  if (flags_.quiet() && result.reason != StopReason::end_of_text) return;
  std::fprintf(stderr, "%s%sthere is no text: %s\n", name.c_str(), name.empty() ? "" : ": ",
               why_empty(result.reason, is_chat(), has_template_).c_str());
}

}  // namespace tandem::app
