// S4, M4: chooses the drafts of a pass, and learns from what the texts became.
//
// A text's drafts are one candidate of engine/draft/, as a chain behind its newest token: a piece of text whose tokens
// all get logits. Chains of all texts share one ranking and one pass. The caller runs the pass and accepts tokens.
//
// Contract: Threads: the orchestrator's. Ownership: borrows the engine. A TextSpeculation borrows its Speculation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/draft/acceptance_rates.h"
#include "engine/draft/draft_budget.h"
#include "engine/draft/text_drafts.h"
#include "engine/run/engine.h"
#include "tandem/generate.h"

namespace tandem {

class Speculation;

// The drafts of one text.
class TextSpeculation {
 public:
  TextSpeculation(Speculation& shared, const SpecOptions& options, IsEnd is_end);

  void append(std::span<const int32_t> tokens);  // the prompt, and later each token that the text keeps
  // The drafts of the next pass, behind the newest token. Set by Speculation::choose().
  std::span<const int32_t> drafts() const { return drafts_; }
  // The pass is over: so many of the drafts are part of the text. choices: what the model chose behind the newest
  // token, and behind each draft.
  void take_verdict(int64_t accepted, std::span<const int32_t> choices);
  DraftTotals totals() const;

 private:
  friend class Speculation;
  const Speculation& shared_;
  const bool is_baseline_;  // runs all drafts that it has
  const int64_t draft_max_;
  TextDrafts candidates_;
  std::vector<int32_t> drafts_;
  std::vector<double> weights_;  // of the best candidate
  size_t best_ = 0;              // its index
  DraftBudget budget_;
  struct Pass {
    double plain = 0, extra = 0;  // seconds of this text's part of the pass: for its newest token, and for its drafts
  } pass_;
  DraftTotals totals_;
};

class Speculation {
 public:
  explicit Speculation(Engine& engine) : engine_(engine) {}

  // Why a text with these options gets no drafts. Empty: it may get some.
  std::string refusal(const SpecOptions& options) const;
  struct Text {
    TextSpeculation* speculation;  // null: the text gets no drafts
    int64_t position;              // tokens before its newest token
    int64_t room;                  // most drafts that the text can use
  };
  // Sets the drafts of these texts, which have one token each in the next pass. rows: most tokens that get logits.
  void choose(std::span<const Text> texts, int64_t rows);
  // A pass of these texts, with the drafts that were chosen, took so long. Called before their take_verdict().
  void learn(std::span<const Text> texts, double seconds);
  Engine& engine() const { return engine_; }

 private:
  // A draft of a text: the next one of its best candidate.
  struct RankedDraft {
    double weight;
    TextSpeculation* text;
  };
  static std::vector<double> allowed(const TextSpeculation& text, std::span<const double> seconds, int64_t texts);
  void find_best_chain(TextSpeculation& text, std::span<const double> seconds) const;
  static int64_t take_all(TextSpeculation& text, int64_t room);
  int64_t drafts_that_pay(std::span<const RankedDraft> ranked, std::span<const double> possible, int64_t tokens,
                          int64_t position);

  PassTimes& times() { return engine_.plans().times(); }
  Engine& engine_;
};

}  // namespace tandem
