// Drafts of a smaller model (M4). Its passes cost time in front of every pass of the large one, so it only runs if the
// gain pays for both.
#include "engine/run/serve/model_drafts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/draft/pass_size.h"
#include "engine/draft/token_tree.h"
#include "engine/run/engine.h"
#include "engine/run/serve/history_file.h"
#include "engine/run/serve/sampler.h"
#include "sync/clock.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr int64_t kMostIdle = 64;  // passes without the model, before it is tried again
constexpr int64_t kTried = 3;      // drafts of such a trial

// The tokens a second of the best chain among the candidates. Candidates from matches cost no pass of another model, so
// the draft model must beat them.
double best_rate(const TextDrafts& text, std::span<const double> seconds, int64_t texts) {
  double best = static_cast<double>(texts) / seconds[0];
  for (const DraftCandidate& candidate : text.candidates()) {
    const std::vector<double> weights = chain_weights(candidate.probabilities);
    best = std::max(best, tokens_a_second(weights, seconds, texts, best_draft_count(weights, seconds, texts)));
  }
  return best;
}

}  // namespace

// Both models must share the machine, whose thread runs their passes in turn, and the meaning of ids.
DraftModel::DraftModel(std::unique_ptr<Engine> engine, const Engine& target) : engine_(std::move(engine)) {
  if (engine_->model().machine() != target.model().machine())
    throw Error("the draft model is on another machine", engine_->model().file().path(),
                "Load it onto the machine of the model that it drafts for");
  if (vocabulary_hash(engine_->model().tokenizer()) != vocabulary_hash(target.model().tokenizer()))
    throw Error("the draft model has another vocabulary", engine_->model().file().path(),
                "Its tokens must be those of " + target.model().file().path());
}

DraftModel::~DraftModel() = default;

std::shared_ptr<DraftModel> load_draft_model(const ModelOptions& options, const Engine& target, int64_t texts) {
  TextOptions of_texts;
  of_texts.act = target.options().act;
  of_texts.kv_type = target.options().kv_type;
  of_texts.context = target.sizes().context;
  of_texts.sequences = texts;
  auto engine = std::make_unique<Engine>(std::make_shared<LoadedModel>(target.model().machine(), options), of_texts);
  return std::make_shared<DraftModel>(std::move(engine), target);
}

ModelDrafts::ModelDrafts(std::shared_ptr<DraftModel> model, IsEnd is_end)
    : model_(std::move(model)), is_end_(std::move(is_end)) {}

// An error of the draft model must not end the text, so it is kept as a problem and the model is not asked again.
void ModelDrafts::add_candidate(TextDrafts& text, PassTimes& times, const Pass& pass, const DraftBudget& budget) {
  if (!totals_.problem.empty() || pass.most < 1) return;
  const int64_t drafts = drafts_to_run(text, times, pass, budget);
  if (drafts == 0) return;
  idle_ = 0;
  try {
    text.add_model_candidate(choices_behind(text.tokens(), drafts));
  } catch (const Error& error) {
    totals_.problem = error.what();
    sequence_.reset();
  }
}

// The time of one of the model's passes: predicted, and corrected by those that ran.
double ModelDrafts::pass_seconds() const {
  const int64_t position = sequence_ ? sequence_->position() : 0;
  return model_->engine().plans().times().seconds({1}, 0, position, false)[0];
}

// For each number of drafts, the draft model's time is added to that of the large model's pass. The number that gives
// the most tokens a second wins.
ModelDrafts::Plan ModelDrafts::best_plan(std::span<const double> weights, std::vector<double> seconds, const Pass& pass,
                                         double model_seconds, const DraftBudget& budget) const {
  const double plain = seconds[0] / static_cast<double>(pass.texts);
  for (size_t n = 1; n < seconds.size(); ++n) {
    seconds[n] += static_cast<double>(n) * model_seconds;
    if (!budget.allows(seconds[n] - seconds[0], plain)) seconds[n] = std::numeric_limits<double>::infinity();
  }
  const int64_t drafts = best_draft_count(weights, seconds, pass.texts, kNoiseMargin);
  return {drafts, tokens_a_second(weights, seconds, pass.texts, drafts)};
}

// M4. If a width that is not open would give more, the pass counts as a wish for it.
int64_t ModelDrafts::drafts_to_run(const TextDrafts& text, PassTimes& times, const Pass& pass,
                                   const DraftBudget& budget) {
  const std::vector<double> weights = chain_weights(text.model_chances(pass.most)),
                            open = times.seconds({pass.texts}, pass.most, pass.position, true),
                            possible = times.seconds({pass.texts}, pass.most, pass.position, false);
  const double model_seconds = pass_seconds();
  const Plan now = best_plan(weights, open, pass, model_seconds, budget),
             wished = best_plan(weights, possible, pass, model_seconds, budget);
  const double others = best_rate(text, open, pass.texts), got = std::max(now.rate, others);
  if (wished.drafts > 0 && wished.rate > std::max(got, best_rate(text, possible, pass.texts))) {
    const double tokens = static_cast<double>(pass.texts);
    times.add_wish({pass.texts}, pass.texts + wished.drafts, tokens / got - tokens / wished.rate);
  }
  if (now.drafts > 0 && now.rate > others) return now.drafts;
  const int64_t tried = std::min(kTried, pass.most);
  const bool may_try = ++idle_ > kMostIdle && budget.allows(static_cast<double>(tried) * model_seconds,
                                                            open[0] / static_cast<double>(pass.texts));
  return may_try ? tried : 0;
}

// The model's sequence follows the text: it drops drafts that were wrong, and reads the tokens that it lacks.
std::vector<int32_t> ModelDrafts::choices_behind(std::span<const int32_t> text, int64_t count) {
  Engine& engine = model_->engine();
  const int64_t room = engine.sizes().context - std::ssize(text) + 1;
  std::vector<int32_t> choices;
  if (room < 1) return choices;
  if (!sequence_) sequence_ = engine.cache().new_sequence();
  const auto known = std::ranges::mismatch(sequence_->ids(), text.first(text.size() - 1)).in1;
  sequence_->rewind(known - sequence_->ids().begin());
  Logits logits = read(text.subspan(static_cast<size_t>(sequence_->position())));
  for (;;) {
    const int32_t choice = greedy_choice(logits);
    if (choice >= engine.model().tokenizer().size()) break;  // a row of the matrix that is no token
    choices.push_back(choice);
    if (std::ssize(choices) >= std::min(count, room) || (is_end_ && is_end_(choice))) break;
    logits = read(std::span(&choice, 1));
  }
  return choices;
}

// The first tokens are the prompt. Their time is no part of T, since each text reads its prompt once.
Logits ModelDrafts::read(std::span<const int32_t> tokens) {
  Engine& engine = model_->engine();
  const int64_t position = sequence_->position();
  const double start = now_seconds();
  Logits logits = extend(engine, *sequence_, tokens);
  const double seconds = now_seconds() - start;
  (position == 0 ? totals_.prompt_seconds : totals_.seconds) += seconds;
  if (position > 0) seconds_ += seconds;
  if (tokens.size() == 1) engine.plans().times().learn({1}, 1, position, seconds);
  ++totals_.passes;
  return logits;
}

// The time since the last call, for the budget of the text.
double ModelDrafts::take_seconds() { return std::exchange(seconds_, 0); }

}  // namespace tandem
