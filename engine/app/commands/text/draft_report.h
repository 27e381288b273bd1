// Reports of speculative decoding for a text: JSON, a line for people, and notes on stderr.
//
// Contract: notes are printed once, and not with -q. Threads: one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "engine/app/common_flags.h"
#include "engine/run/engine.h"
#include "tandem/generate.h"

namespace tandem::app {

double tokens_a_pass(const Generation& g);  // of those behind the first one; 0: there was no such pass

// The object "spec" of `tandem run --json`.
nlohmann::json drafts_json(const Generation& g, const SpecOptions& spec);
// "drafts (auto): 12 of 20 accepted (context 12 of 20), 1.35 tokens a pass, ...", with why passes had none.
std::string drafts_line(const Generation& g, SpecMode mode);

// Notes that a command prints once each, however many texts they concern.
class DraftNotes {
 public:
  explicit DraftNotes(const CommonFlags& flags) : flags_(flags) {}
  // Says what drafts of this mode mean where a token's bits depend on the other tokens of its pass.
  void explain(SpecMode mode, const Engine& engine);
  void explain_draft_model(const Generation& g);  // why it was left out, if it was
  // Why a text could not be kept in the history. Empty: it was.
  void explain_history(const std::string& problem);

 private:
  void print(const std::string& note);
  const CommonFlags& flags_;
  std::set<std::string> printed_;
};

}  // namespace tandem::app
