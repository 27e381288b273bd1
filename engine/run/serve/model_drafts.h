// Drafts of a smaller model: its greedy choices behind a text, as one more candidate.
//
// The model has to run before a candidate is known. So M4 is asked first, with the chances of such drafts and with T
// made longer by the model's own passes. The model runs if that gives more than the candidates that are there. If its
// drafts do not pay, they are tried again from time to time: the text tells what they were worth.
//
// Contract: one object for each text. Threads: the machine's thread. Ownership: shares the model. If the model fails,
// the text goes on without it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/draft/draft_budget.h"
#include "engine/draft/text_drafts.h"
#include "engine/run/choice/pass_times.h"
#include "tandem/generate.h"

namespace tandem {

// Loads a draft model onto the target's machine. Its texts are as long as the target's, and have the target's types.
// They need no bits of a plan that the user asked for. texts: written at a time.
std::shared_ptr<DraftModel> load_draft_model(const ModelOptions& options, const Engine& target, int64_t texts);

class ModelDrafts {
 public:
  ModelDrafts(std::shared_ptr<DraftModel> model, IsEnd is_end);

  // The next pass of the larger model, without this text's drafts.
  struct Pass {
    int64_t texts = 1, position = 0;
    int64_t most = 0;  // drafts that it has room for
  };
  // Adds what the model says next to the candidates of the text, if that pays.
  void add_candidate(TextDrafts& text, PassTimes& times, const Pass& pass, const DraftBudget& budget);
  double take_seconds();  // of the model's passes since the last call
  ModelTotals totals() const { return totals_; }

 private:
  // How many drafts would be run, and the tokens a second that they would give.
  struct Plan {
    int64_t drafts = 0;
    double rate = 0;
  };
  Plan best_plan(std::span<const double> weights, std::vector<double> seconds, const Pass& pass, double model_seconds,
                 const DraftBudget& budget) const;
  double pass_seconds() const;
  int64_t drafts_to_run(const TextDrafts& text, PassTimes& times, const Pass& pass, const DraftBudget& budget);
  std::vector<int32_t> choices_behind(std::span<const int32_t> text, int64_t count);
  Logits read(std::span<const int32_t> tokens);

  const std::shared_ptr<DraftModel> model_;
  const IsEnd is_end_;
  std::optional<Sequence> sequence_;  // of the model; nothing: it has not run yet
  int64_t idle_ = 0;                  // passes since it ran
  double seconds_ = 0;
  ModelTotals totals_;
};

}  // namespace tandem
