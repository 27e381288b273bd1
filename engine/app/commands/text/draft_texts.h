// The texts of --prediction and --history, which drafts continue.
//
// Contract: texts can be written without them, so a file that cannot be used is a note and no error. Threads: one;
// texts that share the history add to it on the engine's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/app/common_flags.h"
#include "engine/model/tokenizer.h"
#include "tandem/generate.h"

namespace tandem::app {

class DraftTexts {
 public:
  DraftTexts(const CommonFlags& flags, const Tokenizer& tokenizer);

  // To stderr: what is not used and why, and whether others may read the history. Nothing with -q.
  void print_notes() const;
  void give_to(SpecOptions& spec) const;
  // The tokens of a text that the answer may look like.
  std::vector<int32_t> prediction(const std::string& text) const;
  // Why the last text could not be kept in the history. Empty: it was kept, or there is none.
  std::string history_problem() const;

 private:
  void open_history();
  void read_prediction(const std::string& path);

  const CommonFlags& flags_;
  const Tokenizer& tokenizer_;
  std::vector<std::vector<int32_t>> predictions_;
  std::vector<std::string> no_predictions_;  // files that are no text
  std::shared_ptr<TextHistory> history_;     // null: none was asked for, or it cannot be used
  std::string no_history_because_;
};

}  // namespace tandem::app
