#include "engine/app/commands/text/draft_texts.h"

#include <cstdio>

#include "engine/app/text_input.h"
#include "engine/model/tokenizer/utf8.h"
#include "engine/run/serve/history_file.h"
#include "sync/error.h"

namespace tandem::app {

DraftTexts::DraftTexts(const CommonFlags& flags, const Tokenizer& tokenizer) : flags_(flags), tokenizer_(tokenizer) {
  for (const std::string& path : flags.predictions) read_prediction(path);
  if (!flags.history.empty()) open_history();
}

void DraftTexts::read_prediction(const std::string& path) {
  const std::string text = read_file(path);
  if (utf8::masked(text, '\0').find('\0') == std::string::npos)
    predictions_.push_back(prediction(text));
  else
    no_predictions_.push_back(path);
}

void DraftTexts::open_history() {
  try {
    history_ = std::make_shared<TextHistory>(flags_.history, tokenizer_, flags_.history_mebibytes << 20);
  } catch (const Error& error) {
    no_history_because_ = error.what();
  }
}

void DraftTexts::print_notes() const {
  if (flags_.quiet()) return;
  for (const std::string& path : no_predictions_)
    std::fprintf(stderr, "note: the prediction is not used: %s is no text in UTF-8\n", path.c_str());
  if (!no_history_because_.empty())
    std::fprintf(stderr, "note: the history is not used: %s\n", no_history_because_.c_str());
  if (const unsigned mode = history_ ? HistoryFile(flags_.history, HistoryFile::kAnyVocabulary).open_mode() : 0)
    std::fprintf(stderr, "note: others than its owner may use the history %s: its mode is %o\n", flags_.history.c_str(),
                 mode);
}

void DraftTexts::give_to(SpecOptions& spec) const {
  spec.predictions = predictions_;
  spec.history = history_;
}

// A prediction is text in the middle of another one, so it has neither a start token nor special ones.
std::vector<int32_t> DraftTexts::prediction(const std::string& text) const {
  return tokenizer_.encode(text, {.add_bos_eos = false, .parse_special = false});
}

std::string DraftTexts::history_problem() const { return history_ ? history_->problem() : ""; }

}  // namespace tandem::app
