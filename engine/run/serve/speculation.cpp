#include "engine/run/serve/speculation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/draft/pass_size.h"

namespace tandem {
namespace {

// Drafts must gain more than this share, because measured times have noise.
constexpr double kMargin = 0.03;

DraftRule rule_of(SpecMode mode) {
  if (mode == SpecMode::pld) return DraftRule::pld;
  return mode == SpecMode::sam ? DraftRule::sam : DraftRule::sdnpu;
}

// Baselines run all drafts that they have.
bool is_baseline(SpecMode mode) { return mode == SpecMode::pld || mode == SpecMode::sam; }

TextDraftOptions draft_options(const SpecOptions& options, IsEnd is_end) {
  TextDraftOptions drafts;
  drafts.rule = rule_of(options.mode);
  drafts.max = most_tokens(drafts.rule);
  if (!is_baseline(options.mode)) drafts.max = std::min(drafts.max, options.draft_max);
  drafts.predictions = options.predictions;
  // The records live as long as the history.
  if (options.history) drafts.history = {options.history, &options.history->records()};
  drafts.is_end = std::move(is_end);
  return drafts;
}

// The chance of each token of a candidate to be accepted.
std::vector<double> weights_of(const DraftCandidate& candidate) {
  std::vector<double> weights(candidate.probabilities.size());
  std::partial_sum(candidate.probabilities.begin(), candidate.probabilities.end(), weights.begin(), std::multiplies());
  return weights;
}

double rate(std::span<const double> weights, std::span<const double> seconds, int64_t texts, int64_t drafts) {
  const double sum = std::accumulate(weights.begin(), weights.begin() + drafts, static_cast<double>(texts));
  return sum / seconds[static_cast<size_t>(drafts)];
}

}  // namespace

const char* to_string(SpecMode mode) {
  switch (mode) {
    case SpecMode::none:
      return "none";
    case SpecMode::automatic:
      return "auto";
    case SpecMode::pld:
      return "pld";
    case SpecMode::sam:
      return "sam";
    case SpecMode::sdnpu:
      return "sdnpu";
  }
  return "";
}

TextSpeculation::TextSpeculation(Speculation& shared, const SpecOptions& options, IsEnd is_end)
    : shared_(shared),
      is_baseline_(is_baseline(options.mode)),
      draft_max_(options.draft_max),
      candidates_(draft_options(options, std::move(is_end)), shared.engine().draft_rates()) {}

void TextSpeculation::append(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) candidates_.append(token);
}

void TextSpeculation::take_verdict(int64_t accepted, std::span<const int32_t> choices) {
  budget_.add(pass_.plain, pass_.extra, accepted);
  pass_ = {};
  if (drafts_.empty()) return;
  ++totals_.passes;
  totals_.drafts += std::ssize(drafts_);
  totals_.accepted += accepted;
  DraftTotals::Source& source = totals_.sources[to_string(candidates_.source_of(best_))];
  source.drafts += std::ssize(drafts_);
  source.accepted += accepted;
  if (!is_baseline_) candidates_.add_verdict(drafts_, choices);
  drafts_.clear();  // the next pass may read a prompt, and has no drafts then
}

DraftTotals TextSpeculation::totals() const {
  DraftTotals totals = totals_;
  totals.pass_seconds = shared_.engine().plans().times().measured();
  return totals;
}

std::string Speculation::refusal(const SpecOptions& options) const {
  if (options.mode == SpecMode::none) return "speculative decoding was not asked for";
  if (options.draft_max < 1 || engine_.sizes().logit_rows < 2) return "passes have no room for drafts";
  if (options.mode == SpecMode::automatic && engine_.contract().bits_depend_on_passes)
    return "a token's bits depend on the other tokens of its pass";
  return "";
}

// The times of passes whose drafts the text may lose. Its part of a pass without drafts is that of one text.
std::vector<double> Speculation::allowed(const TextSpeculation& text, std::span<const double> seconds, int64_t texts) {
  std::vector<double> allowed(seconds.begin(), seconds.end());
  for (double& each : allowed)
    if (!text.budget_.allows(each - seconds[0], seconds[0] / static_cast<double>(texts)))
      each = std::numeric_limits<double>::infinity();
  return allowed;
}

// The candidate whose chain gives the most tokens in its time, if the text were alone.
void Speculation::find_best_chain(TextSpeculation& text, std::span<const double> seconds) const {
  text.weights_.clear();
  double best = 0;
  size_t most = seconds.size() - 1;  // drafts of the longest pass that is allowed
  while (most > 0 && std::isinf(seconds[most])) --most;
  const std::vector<DraftCandidate>& candidates = text.candidates_.candidates();
  for (size_t c = 0; c < candidates.size(); ++c) {
    std::vector<double> weights = weights_of(candidates[c]);
    const int64_t drafts = best_draft_count(weights, seconds);
    const double gain = rate(weights, seconds, 1, drafts);
    if (c > 0 && gain <= best) continue;
    best = gain;
    text.best_ = c;
    weights.resize(std::min(weights.size(), most));
    text.weights_ = std::move(weights);
  }
}

// Baselines take their drafts first. Chains of all other texts are one list, ranked by weight, and as many as pay run.
void Speculation::choose(std::span<const Text> texts, int64_t rows) {
  int64_t tokens = std::ssize(texts), position = 0;  // of the pass
  for (const Text& each : texts) {
    position = std::max(position, each.position);
    if (!each.speculation) continue;
    each.speculation->drafts_.clear();
    each.speculation->candidates_.find_candidates();
  }
  for (const Text& each : texts)
    if (each.speculation && each.speculation->is_baseline_)
      tokens += take_all(*each.speculation, std::min(each.room, rows - tokens));
  const int64_t most = rows - tokens;
  if (most <= 0) return;
  std::vector<RankedDraft> ranked;
  std::vector<double> possible;  // computed only if there is a candidate
  for (const Text& each : texts) {
    TextSpeculation* const text = each.speculation;
    if (!text || text->is_baseline_ || text->candidates_.candidates().empty()) continue;
    if (possible.empty()) possible = times().seconds(tokens, most, position, false);
    find_best_chain(*text, allowed(*text, possible, std::ssize(texts)));
    const int64_t room = std::min(text->draft_max_, each.room);
    for (int64_t i = 0; i < std::min(std::ssize(text->weights_), room); ++i)
      ranked.push_back({text->weights_[static_cast<size_t>(i)], text});
  }
  if (ranked.empty()) return;
  // A text's weights fall, so a stable order keeps each chain in one piece.
  std::ranges::stable_sort(ranked, std::greater(), &RankedDraft::weight);
  const auto drafts = static_cast<size_t>(drafts_that_pay(ranked, possible, tokens, position));
  for (const RankedDraft& each : std::span(ranked).first(drafts)) {
    const std::vector<int32_t>& chain = each.text->candidates_.candidates()[each.text->best_].tokens;
    each.text->drafts_.push_back(chain[each.text->drafts_.size()]);
  }
}

int64_t Speculation::take_all(TextSpeculation& text, int64_t room) {
  if (text.candidates_.candidates().empty()) return 0;
  const std::vector<int32_t>& tokens = text.candidates_.candidates().front().tokens;
  const int64_t drafts = std::clamp<int64_t>(std::min(room, text.draft_max_), 0, std::ssize(tokens));
  text.best_ = 0;
  text.drafts_.assign(tokens.begin(), tokens.begin() + drafts);
  return drafts;
}

// M4 among the open widths. If another width would give more, the pass counts as a wish for it.
int64_t Speculation::drafts_that_pay(std::span<const RankedDraft> ranked, std::span<const double> possible,
                                     int64_t tokens, int64_t position) {
  std::vector<double> weights;
  for (const RankedDraft& each : ranked) weights.push_back(each.weight);
  const std::vector<double> open = times().seconds(tokens, std::ssize(possible) - 1, position, true);
  const int64_t drafts = best_draft_count(weights, open, tokens, kMargin),
                wished = best_draft_count(weights, possible, tokens, kMargin);
  const double now = rate(weights, open, tokens, drafts), better = rate(weights, possible, tokens, wished);
  if (better > now) {
    const double written = now * open[static_cast<size_t>(drafts)];  // tokens
    times().add_wish(tokens, tokens + wished, written / now - written / better);
  }
  return drafts;
}

void Speculation::learn(std::span<const Text> texts, double seconds) {
  const auto count = std::ssize(texts);
  int64_t drafts = 0, position = 0;
  for (const Text& each : texts) {
    if (each.speculation) drafts += std::ssize(each.speculation->drafts_);
    position = std::max(position, each.position);
  }
  times().learn(count, count + drafts, position, seconds);
  // The cost of drafts is judged by usual times, because another program may have had the cores during this pass.
  const std::vector<double> usual = times().seconds(count, drafts, position, false);
  const double plain = usual.front(), extra = (std::isinf(usual.back()) ? seconds : usual.back()) - plain;
  for (const Text& each : texts) {
    if (!each.speculation) continue;
    const auto own = static_cast<double>(std::ssize(each.speculation->drafts_));
    each.speculation->pass_ = {plain / static_cast<double>(count),
                               drafts > 0 ? std::max(extra, 0.0) * own / static_cast<double>(drafts) : 0};
  }
}

}  // namespace tandem
