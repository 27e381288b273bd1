// The drafts of one text, from pass to pass (S3 to S5).
//
// Contract: Threads: the orchestrator's. It borrows the rates and the times of its engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/draft/draft_budget.h"
#include "engine/draft/text_drafts.h"
#include "engine/draft/token_tree.h"
#include "engine/run/engine.h"
#include "engine/run/serve/model_drafts.h"
#include "tandem/generate.h"

namespace tandem {

class TextSpeculation {
 public:
  TextSpeculation(Engine& engine, const SpecOptions& options, IsEnd is_end);

  void append(std::span<const int32_t> tokens);  // the prompt, and later each token that the text keeps
  // S2: whether the prompt's tokens should get logits, and the logits of those from `place` on, [n, vocabulary].
  bool calibrates() const { return calibrates_; }
  void calibrate(int64_t place, std::span<const float> logits, size_t vocabulary);

  // The drafts of the next pass. -1 is the newest token. Set by Speculation::choose().
  const DraftTree& drafts() const { return drafts_; }
  // S5: the drafts that the text kept, and the likeliest ones behind them.
  std::vector<int32_t> judged_chain(std::span<const int32_t> path) const;
  // A pass that wrote is over: the text kept the drafts of this path. choices: what the model chose behind the newest
  // token, and behind each draft of judged_chain().
  void take_verdict(std::span<const int32_t> path, std::span<const int32_t> choices);
  DraftTotals totals() const;

 private:
  friend class Speculation;
  // Drafts in the order of their chances, so that the first ones are the best.
  void take(const TokenTree& ranked, int64_t count);

  Engine& engine_;
  const SpecMode mode_;
  const bool calibrates_;
  const int64_t draft_max_;
  TextDrafts candidates_;
  std::unique_ptr<ModelDrafts> model_;  // null: no model drafts for this text
  int64_t calibrated_ = 0;              // tokens of the prompt that calibrate() has seen
  DraftTree drafts_;
  std::vector<DraftSource> sources_;       // of the drafts
  TokenTree chain_, tree_;                 // what choose() compares
  NoDrafts no_drafts_ = NoDrafts::prompt;  // if the pass has none: why. choose() says it
  DraftBudget budget_;
  struct Pass {
    double plain = 0, extra = 0;  // seconds of this text's part of the pass: for its newest token, and for its drafts
  } pass_;
  DraftTotals totals_;
};

}  // namespace tandem
