#include "engine/app/commands/text/prompting.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "engine/app/commands/text/generation.h"
#include "engine/app/text_input.h"
#include "engine/model/chat/chat_prompt.h"
#include "engine/model/tokenizer/utf8.h"
#include "engine/run/serve/history_file.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

constexpr const char* kTemplateKey = "tokenizer.chat_template";

// The reason in a user's words, with the flag that changes it.
std::string why_empty(StopReason reason, bool is_chat, bool knows_template) {
  switch (reason) {
    case StopReason::end_of_text:
      if (is_chat) return "the model ended its answer at once; --ignore-eos goes on";
      if (!knows_template) return "the model ended the text at once; --ignore-eos goes on";
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

// Tries the template on a short text once. If it does not render ChatML, why_not_ keeps the reason. The template is a
// program of its own language. Only templates that render ChatML are known, so the reason tells the user why --chat has
// no effect.
Prompting::Prompting(const CommonFlags& flags, const LoadedModel& model)
    : flags_(flags), tokenizer_(model.tokenizer()) {
  const std::string type = model.file().type_of(kTemplateKey);
  if (type == "string") template_ = *model.file().get_string(kTemplateKey);
  if (!template_.empty()) {
    why_not_ = user_turn(template_, tokenizer_, "?").why_not;
    if (!why_not_.empty()) why_not_ = "the model's chat template is not known here: " + why_not_;
  } else if (!type.empty() && type != "string") {
    why_not_ = std::string("the model's ") + kTemplateKey + " is no text but " + type;
  } else {
    why_not_ = "the model has no chat template";
  }
  for (const std::string& path : flags.predictions) read_prediction(path);
  if (!flags.history.empty()) open_history();
}

// A text can be written without predictions, so a file that is no text is a note.
void Prompting::read_prediction(const std::string& path) {
  const std::string text = read_file(path);
  if (utf8::masked(text, '\0').find('\0') == std::string::npos)
    predictions_.push_back(prediction(text));
  else
    no_predictions_.push_back(path);
}

// A text can be written without its history, so what is wrong with the file is a note.
void Prompting::open_history() {
  try {
    history_ = std::make_shared<TextHistory>(flags_.history, tokenizer_, flags_.history_mebibytes << 20);
  } catch (const Error& error) {
    no_history_because_ = error.what();
  }
}

std::string Prompting::history_problem() const { return history_ ? history_->problem() : ""; }

void Prompting::print_note() const {
  if (flags_.quiet()) return;
  for (const std::string& path : no_predictions_)
    std::fprintf(stderr, "note: the prediction is not used: %s is no text in UTF-8\n", path.c_str());
  if (!no_history_because_.empty())
    std::fprintf(stderr, "note: the history is not used: %s\n", no_history_because_.c_str());
  if (const unsigned mode = history_ ? HistoryFile(flags_.history, HistoryFile::kAnyVocabulary).open_mode() : 0)
    std::fprintf(stderr, "note: others than its owner may use the history %s: its mode is %o\n", flags_.history.c_str(),
                 mode);
  if (!flags_.chat || knows_template()) return;
  std::fprintf(stderr, "note: %s; the text is continued instead of answered (--chat)\n", why_not_.c_str());
}

std::vector<int32_t> Prompting::ids(const std::string& text) const {
  return is_chat() ? turn_ids(text) : prompt_ids(flags_, text, tokenizer_);
}

std::vector<int32_t> Prompting::prediction(const std::string& text) const {
  return tokenizer_.encode(text, {.add_bos_eos = false, .parse_special = false});
}

// The parts keep the template's special tokens apart from the user's text, so that the text cannot end its own turn.
std::vector<int32_t> Prompting::turn_ids(const std::string& text) const {
  const ChatPrompt turn = user_turn(template_, tokenizer_, text);
  if (!turn.known())
    throw Error("the chat template does not make a user's turn of this text", turn.why_not,
                "Leave out --chat to have the text continued");
  return tokenizer_.encode(turn.parts);
}

GenerateOptions Prompting::options() const {
  GenerateOptions options = generate_options(flags_);
  options.spec.predictions = predictions_;
  options.spec.history = history_;
  // A vocabulary without that token writes its characters as text, so they become a stop text.
  const std::vector<int32_t> end = tokenizer_.encode(kChatMlEnd, {.add_bos_eos = false, .parse_special = true});
  const bool is_token = end.size() == 1 && tokenizer_.is_end(end.front());
  if (is_chat() && !is_token && !options.ignore_end) options.stop.emplace_back(kChatMlEnd);
  return options;
}

void Prompting::explain_empty(const Generation& result, const std::string& name) const {
  if (result.text.find_first_not_of(" \t\r\n") != std::string::npos) return;
  if (flags_.quiet() && result.reason != StopReason::end_of_text) return;
  std::fprintf(stderr, "%s%sthere is no text: %s\n", name.c_str(), name.empty() ? "" : ": ",
               why_empty(result.reason, is_chat(), knows_template()).c_str());
}

}  // namespace tandem::app
