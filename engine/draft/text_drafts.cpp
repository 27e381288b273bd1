#include "engine/draft/text_drafts.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tandem {
namespace {

// Tokens with a smaller chance are not worth their place in any pass.
constexpr double kLeastWeight = 1.0 / 128;
constexpr double kMemory = 32;         // tokens that a text expected of a source; older ones count less
constexpr int kMatchLengths = 3;       // the longest match and the next shorter ones
constexpr size_t kBranches = 4;        // continuations of one match
constexpr size_t kContinuations = 12;  // of which the newest ones are taken

DraftHistory records_of(const std::vector<std::vector<int32_t>>& texts) {
  DraftHistory records;
  for (const std::vector<int32_t>& text : texts) records.add(text);
  return records;
}

DraftPlace place_of(Followers followers) {
  if (followers == Followers::once) return DraftPlace::once;
  return followers == Followers::same ? DraftPlace::again : DraftPlace::newest;
}

}  // namespace

TextDrafts::TextDrafts(TextDraftOptions options, AcceptanceRates& rates)
    : options_(std::move(options)),
      rates_(rates),
      predictions_(records_of(options_.predictions)),
      prediction_matcher_(predictions_),
      history_matcher_(options_.history ? *options_.history : no_history_) {}

void TextDrafts::append(int32_t token) {
  // A candidate's token is tried if all tokens before it were right. Its size is then still beyond `judged_`. The
  // candidates before a token are judged by it, and wrong ones end there.
  for (size_t c = 0; c < candidates_.size(); ++c) {
    DraftCandidate& candidate = candidates_[c];
    if (judged_ >= candidate.tokens.size()) continue;
    const bool right = candidate.tokens[judged_] == token;
    if (judged_ >= origins_[c].judged_before) judge(origins_[c].of_token(judged_), right);
    const int64_t run = origins_[c].run;
    if (right && judged_ == 0 && run >= 0 && right_runs_.insert(run).second) ++run_counts_.right;
    if (!right) candidate.tokens.resize(judged_);
  }
  ++judged_;
  context_.append(token);
}

// Sources are asked in a fixed order, and the first candidate is the rule's own draft.
void TextDrafts::find_candidates() {
  candidates_.clear();
  origins_.clear();
  judged_ = 0;
  if (options_.rule != DraftRule::sdnpu) {
    propose_baseline();
  } else {
    propose_from_context();
    if (predictions_.records() > 0) propose_from_records(prediction_matcher_, predictions_, DraftSource::prediction);
    if (options_.history) propose_from_records(history_matcher_, *options_.history, DraftSource::history);
  }
  // S5: the step begins with the longest fresh candidate, because runs and drafts share one limit.
  int64_t fresh = 0;
  for (const DraftCandidate& candidate : candidates_) fresh = std::max(fresh, std::ssize(candidate.tokens));
  runs_.begin_step(fresh);
  propose_reused();
  propose_calibrated();
}

// S2: ranks behind the first one count as other continuations.
DraftClass TextDrafts::Origin::of_token(size_t index) const {
  DraftClass of = first;
  of.length += static_cast<int64_t>(index);
  if (index > 0) of.place = DraftPlace::later;
  if (!ranks.empty() && ranks[index] > 0) of.place = DraftPlace::other;
  return of;
}

// A source's luck compares what this text accepted with what the classes expected. Old tokens fade.
void TextDrafts::judge(const DraftClass& of, bool right) {
  Luck& luck = luck_[static_cast<size_t>(of.source)];
  const double kept = luck.expected > kMemory ? kMemory / luck.expected : 1;
  luck.expected = luck.expected * kept + rates_.probability(of);
  luck.accepted = luck.accepted * kept + (right ? 1 : 0);
  rates_.add(of, right);
}

// The odds of the class, times the ratio of this text's accepted tokens to those that the classes expected. One more
// token of each stands for what is not known yet.
double TextDrafts::chance(const DraftClass& of) const {
  const Luck& luck = luck_[static_cast<size_t>(of.source)];
  const double probability = rates_.probability(of);
  // odds / (1 + odds) with odds = probability / (1 - probability) * (accepted + 1) / (expected + 1)
  const double accepted = probability * (luck.accepted + 1), rejected = (1 - probability) * (luck.expected + 1);
  return accepted / (accepted + rejected);
}

void TextDrafts::add_model_candidate(std::vector<int32_t> tokens) {
  propose(std::move(tokens), {DraftSource::model, 1, DraftPlace::newest});
}

std::vector<double> TextDrafts::model_chances(int64_t tokens) const {
  std::vector<double> chances;
  for (int64_t i = 0; i < tokens; ++i)
    chances.push_back(chance({DraftSource::model, 1 + i, i == 0 ? DraftPlace::newest : DraftPlace::later}));
  return chances;
}

// Adds a candidate as long as its tokens have a chance. Its tokens match with one token more each.
void TextDrafts::propose(std::vector<int32_t> tokens, const DraftClass& first) {
  if (tokens.empty()) return;
  DraftCandidate candidate;
  candidate.probabilities.reserve(tokens.size());
  double weight = 1;
  DraftClass of = first;
  while (candidate.probabilities.size() < tokens.size()) {
    const double probability = chance(of);
    weight *= probability;
    if (weight < kLeastWeight && !candidate.probabilities.empty()) break;
    candidate.probabilities.push_back(probability);
    ++of.length;
    of.place = DraftPlace::later;
  }
  tokens.resize(candidate.probabilities.size());
  candidate.tokens = std::move(tokens);
  candidates_.push_back(std::move(candidate));
  origins_.push_back({first});
}

// A baseline is run as published, so its draft counts as sure and nothing ranks it.
void TextDrafts::propose_baseline() {
  DraftHistory& history = options_.history ? *options_.history : no_history_;
  Draft draft =
      draft_by(options_.rule, context_, history_matcher_, history, options_.max, options_.match_min, options_.is_end);
  if (draft.tokens.empty()) return;
  std::vector<double> sure(draft.tokens.size(), 1.0);
  candidates_.push_back({std::move(draft.tokens), std::move(sure)});
  origins_.push_back({{draft.match.source, draft.match.length, DraftPlace::newest}});
}

// The longest match of the text's end, and shorter ones, each with its continuations, the newest first. A token that
// follows a longer match is not tried again behind a shorter one.
void TextDrafts::propose_from_context() {
  const std::span<const int32_t> text = context_.tokens();
  std::vector<int32_t> tried;
  int32_t state = context_.repeated();
  for (int level = 0; level < kMatchLengths && state > SuffixAutomaton::kRoot; ++level, state = context_.link(state)) {
    const int64_t length = context_.length(state);
    if (length < options_.match_min) return;
    // Places of the last tokens that match. The first one is the rule's (D2).
    std::vector<int32_t> ends{context_.last_end(state)};
    context_.for_each_next(state, [&](int32_t next) {
      ends.push_back(context_.last_end(next) - 1);
      return ends.size() <= kContinuations;
    });
    std::ranges::sort(std::span(ends).subspan(1), std::greater());
    const bool is_single = context_.first_end(state) == ends[0];
    size_t taken = 0;
    for (size_t i = 0; i < ends.size() && taken < kBranches; ++i) {
      const int32_t first = text[static_cast<size_t>(ends[i]) + 1];
      if (std::ranges::find(tried, first) != tried.end()) continue;
      tried.push_back(first);
      const DraftPlace place = level > 0 || taken > 0 ? DraftPlace::other
                               : ends.size() > 2      ? DraftPlace::newest
                               : is_single            ? DraftPlace::once
                                                      : DraftPlace::again;
      propose(continuation_in_context(text, ends[i], options_.max, options_.is_end),
              {DraftSource::context, length, place});
      ++taken;
    }
  }
}

// A record gives one candidate: the continuation of the longest match.
void TextDrafts::propose_from_records(HistoryMatcher& matcher, const DraftHistory& records, DraftSource source) {
  const Match match = matcher.longest(context_.tokens(), Occurrence::last);
  if (match.length == 0 || match.length < options_.match_min) return;
  propose(continuation_in_record(records.record(match.record), match.end, options_.max, options_.is_end),
          {source, match.length, place_of(matcher.followers())});
}

void TextDrafts::propose_reused() {
  for (const ReusedRuns::Run& run : runs_.runs()) {
    propose(run.tokens, {DraftSource::reused, 1, DraftPlace::newest});
    origins_.back().run = run.found;
  }
}

// The place of the longest match, if it is one of the prompt, else the last one of the newest token.
int64_t TextDrafts::place_in_prompt() {
  const Match match = longest_in_context(context_, Occurrence::last);
  const int32_t newest = context_.tokens().back();
  return match.length > 0 && prompt_.has_place(match.end) ? match.end : prompt_.last_place_of(newest);
}

// S2: each path of successors is one candidate, and a path's shared beginning is judged only once.
void TextDrafts::propose_calibrated() {
  if (prompt_.empty() || context_.tokens().empty()) return;
  Origin one{{DraftSource::calibrated, 1, DraftPlace::newest}, {}, 0};
  const auto chance_of = [&](int64_t depth, int rank) {
    one.ranks.assign(static_cast<size_t>(depth) + 1, rank);
    return chance(one.of_token(static_cast<size_t>(depth)));
  };
  for (PromptSuccessors::Path& path : prompt_.paths_behind(place_in_prompt(), chance_of, kLeastWeight)) {
    origins_.push_back({one.first, std::move(path.ranks), static_cast<size_t>(path.shared)});
    candidates_.push_back({std::move(path.tokens), std::move(path.chances)});
  }
}

// S5: the longest run that is right behind a rejection is kept for later steps.
void TextDrafts::add_verdict(std::span<const int32_t> chain, std::span<const int32_t> choices) {
  if (!options_.reuses) return;
  const DraftRun run = judge_chain(chain, choices).run;
  if (run.length > 0) ++run_counts_.found;
  const auto begin = chain.begin() + run.begin;
  runs_.add({begin, begin + run.length});
}

}  // namespace tandem
