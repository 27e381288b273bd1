// Makes a prompt of a text: as it is, to be continued, or as a user's turn (--chat).
//
// Contract: a model without a chat template continues texts; print_note() says so. A template that cannot be used is an
// Error. Refers to the flags and to the model, which must outlive it. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/app/commands/text/draft_texts.h"
#include "engine/app/common_flags.h"
#include "engine/model/chat_template/model_chat.h"
#include "engine/run/machine/loaded_model.h"
#include "engine/run/serve/generate.h"

namespace tandem::app {

// The template of --chat-template-file, of --chat-template, or of the model; absent: there is none. Error: the
// template cannot be read.
std::optional<chat::TemplateSource> chosen_template(const CommonFlags& flags, const GgufFile* model, bool has_tools);

class Prompting {
 public:
  Prompting(const CommonFlags& flags, const LoadedModel& model);

  bool is_chat() const { return chat_.has_value(); }
  // To stderr, if --chat, --prediction or --history has no effect, or others may read the history. Nothing with -q.
  void print_note() const;

  // The prompt's tokens; never empty. A text without tokens becomes the model's start token; Error if it has none.
  std::vector<int32_t> ids(const std::string& text) const;
  const DraftTexts& draft_texts() const { return draft_texts_; }
  // The sampler's options. Ctrl-C interrupts the generation. An answer ends with its turn.
  GenerateOptions options() const;
  // Says on stderr, after `name` if there is one, why a result has no text. Says nothing if it has text. With -q it
  // speaks only of a model that ended the text by itself; other reasons are the user's own choice.
  void explain_empty(const Generation& result, const std::string& name) const;

 private:
  const CommonFlags& flags_;
  const Tokenizer& tokenizer_;
  const bool has_template_;
  std::optional<chat::ModelChat> chat_;  // with --chat, if there is a template
  const DraftTexts draft_texts_;
};

}  // namespace tandem::app
