// The drafts of one text: where they come from, what became of them, and whether the text can still afford them.
#include "engine/run/serve/text_speculation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/run/serve/sampler.h"
#include "engine/run/serve/spec_modes.h"
#include "engine/run/serve/verification.h"

namespace tandem {
namespace {

DraftRule rule_of(SpecMode mode) {
  if (mode == SpecMode::pld) return DraftRule::pld;
  return mode == SpecMode::sam ? DraftRule::sam : DraftRule::sdnpu;
}

// Each mode has the parts of its paper, unless a study asks for others.
SpecOptions::Parts parts_of(const SpecOptions& options) {
  if (options.parts) return *options.parts;
  return {options.mode == SpecMode::sdnpu, rule_of(options.mode) == DraftRule::sdnpu};
}

// The rules of other papers keep their own limits, so that comparisons are fair.
TextDraftOptions draft_options(const SpecOptions& options, IsEnd is_end) {
  TextDraftOptions drafts;
  drafts.rule = rule_of(options.mode);
  drafts.max = most_tokens(drafts.rule);
  if (drafts.rule == DraftRule::sdnpu) drafts.max = std::min(drafts.max, options.draft_max);
  drafts.predictions = options.predictions;
  // The records live as long as the history.
  if (options.history) drafts.history = {options.history, &options.history->records()};
  drafts.is_end = std::move(is_end);
  drafts.reuses = parts_of(options).reuse;
  return drafts;
}

}  // namespace

std::optional<SpecMode> read_spec_mode(std::string_view name) {
  const auto* const mode = std::ranges::find_if(kSpecModes, [name](SpecMode each) { return name == to_string(each); });
  return mode == std::end(kSpecModes) ? std::nullopt : std::optional(*mode);
}

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

const char* to_string(NoDrafts why) {
  switch (why) {
    case NoDrafts::no_match:
      return "no_match";
    case NoDrafts::no_gain:
      return "no_gain";
    case NoDrafts::new_width:
      return "new_width";
    case NoDrafts::no_budget:
      return "no_budget";
    case NoDrafts::no_room:
      return "no_room";
    case NoDrafts::prompt:
      return "prompt";
  }
  return "";
}

// A draft model goes only with the rule of this engine, since the other modes are the papers' own.
TextSpeculation::TextSpeculation(Engine& engine, const SpecOptions& options, IsEnd is_end)
    : engine_(engine),
      mode_(options.mode),
      calibrates_(parts_of(options).calibration),
      draft_max_(options.draft_max),
      candidates_(draft_options(options, is_end), engine.draft_rates()) {
  if (options.model && rule_of(options.mode) == DraftRule::sdnpu)
    model_ = std::make_unique<ModelDrafts>(options.model, std::move(is_end));
}

void TextSpeculation::append(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) candidates_.append(token);
}

// Tokens whose logits nobody computed have no successors.
void TextSpeculation::calibrate(int64_t place, std::span<const float> logits, size_t vocabulary) {
  std::vector<Successors> successors(static_cast<size_t>(place - calibrated_), Successors{-1, -1, -1});
  for (size_t row = 0; row < logits.size(); row += vocabulary) {
    const std::vector<Candidate> best = keep_top_k(logits.subspan(row, vocabulary), kSuccessors);
    Successors& these = successors.emplace_back(Successors{-1, -1, -1});
    for (size_t rank = 0; rank < best.size(); ++rank) these[rank] = best[rank].id;
  }
  const auto tokens = candidates_.tokens().subspan(static_cast<size_t>(calibrated_), successors.size());
  candidates_.calibrate(tokens, successors);
  calibrated_ += std::ssize(successors);
}

// The first drafts of a ranked tree are the drafts of the next pass. Their sources are kept for the statistics.
void TextSpeculation::take(const TokenTree& ranked, int64_t count) {
  drafts_.ids.assign(ranked.ids.begin(), ranked.ids.begin() + count);
  drafts_.parents.assign(ranked.parents.begin(), ranked.parents.begin() + count);
  sources_.clear();
  for (const TokenTree::Origin& origin : std::span(ranked.origins).first(static_cast<size_t>(count)))
    sources_.push_back(candidates_.source_of(static_cast<size_t>(origin.candidate)));
}

// Children come in the order of their chances.
std::vector<int32_t> TextSpeculation::judged_chain(std::span<const int32_t> path) const {
  std::vector<int32_t> chain(path.begin(), path.end());
  const auto nodes = static_cast<int32_t>(drafts_.ids.size());
  for (int32_t node = path.empty() ? 0 : path.back() + 1; node < nodes; ++node)
    if (drafts_.parents[static_cast<size_t>(node)] == (chain.empty() ? -1 : chain.back())) chain.push_back(node);
  return chain;
}

// Settles a pass: the budget pays for its drafts and earns by the accepted ones, and the sources learn whether they
// were right.
void TextSpeculation::take_verdict(std::span<const int32_t> path, std::span<const int32_t> choices) {
  budget_.add(pass_.plain, pass_.extra, std::ssize(path));
  pass_ = {};
  const NoDrafts no_drafts = std::exchange(no_drafts_, NoDrafts::prompt);
  if (drafts_.ids.empty()) {
    ++totals_.plain_passes[no_drafts];
    return;
  }
  ++totals_.passes;
  if (!is_chain(drafts_)) ++totals_.tree_passes;
  totals_.drafts += std::ssize(drafts_.ids);
  totals_.accepted += std::ssize(path);
  for (const DraftSource source : sources_) ++totals_.sources[to_string(source)].drafts;
  for (const int32_t node : path) ++totals_.sources[to_string(sources_[static_cast<size_t>(node)])].accepted;
  std::vector<int32_t> chain;
  for (const int32_t node : judged_chain(path)) chain.push_back(drafts_.ids[static_cast<size_t>(node)]);
  candidates_.add_verdict(chain, choices);
  drafts_ = {};  // the next pass may read a prompt, and has no drafts then
}

DraftTotals TextSpeculation::totals() const {
  DraftTotals totals = totals_;
  if (model_) totals.model = model_->totals();
  totals.runs = candidates_.run_counts().found;
  totals.right_runs = candidates_.run_counts().right;
  totals.pass_seconds = engine_.plans().times().measured();
  return totals;
}

}  // namespace tandem
