// How a command makes a prompt of a text: as it stands, to be continued, or as a user's turn (--chat).
//
// Contract: a model whose chat template is not known has its texts continued, which print_note() says. Refers to the
// flags and to the model, which must outlive it. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/app/common_flags.h"
#include "engine/run/generate.h"
#include "engine/run/loaded_model.h"

namespace tandem::app {

class Prompting {
 public:
  Prompting(const CommonFlags& flags, const LoadedModel& model);

  bool is_chat() const { return flags_.chat && knows_template(); }
  void print_note() const;  // on stderr, where --chat cannot be followed; nothing with -q

  // Never empty: a text without tokens is the model's start token, and an Error where it has none.
  std::vector<int32_t> ids(const std::string& text) const;
  // The flags of the sampler, interrupted by Ctrl-C; an answer ends where its turn does.
  GenerateOptions options() const;
  // Says on stderr, behind `name` where that is something, why a result has no text. Nothing where it has some. With
  // -q it says so only of a model that ended the text by itself: all else is what the user did.
  void explain_empty(const Generation& result, const std::string& name) const;

 private:
  bool knows_template() const { return why_not_.empty(); }
  std::vector<int32_t> turn_ids(const std::string& text) const;
  const CommonFlags& flags_;
  const Tokenizer& tokenizer_;
  std::string template_, why_not_;
};

}  // namespace tandem::app
