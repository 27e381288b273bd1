// Candidates for what one text says next, from all sources, with their chances.
//
// The text's own end is looked up in the text (S3), in texts given with the request, and in a history (S6). Runs of
// rejected drafts are offered again (S5), and so is what the prompt's logits expect (S2). The continuation of the
// longest match comes first. Its other continuations, and those of shorter matches, are further candidates. A chance is
// the rate of its class, corrected by how this text fared with the source so far.
//
// Contract: one object for each text, used by one thread at a time. It borrows the rates, and shares the history.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/draft/acceptance_rates.h"
#include "engine/draft/draft_history.h"
#include "engine/draft/drafting.h"
#include "engine/draft/prompt_successors.h"
#include "engine/draft/reuse.h"
#include "engine/draft/suffix_automaton.h"
#include "engine/draft/token_tree.h"

namespace tandem {

struct TextDraftOptions {
  DraftRule rule = DraftRule::sdnpu;
  int64_t max = kMostCandidateTokens;  // tokens of a candidate
  int64_t match_min = 1;
  std::vector<std::vector<int32_t>> predictions{};  // texts that the answer may look like
  std::shared_ptr<DraftHistory> history{};          // null: none
  IsEnd is_end{};
  bool reuses = true;  // S5
};

class TextDrafts {
 public:
  TextDrafts(TextDraftOptions options, AcceptanceRates& rates);
  TextDrafts(const TextDrafts&) = delete;
  TextDrafts& operator=(const TextDrafts&) = delete;

  // The text grows: its prompt first, then each token that it keeps. A token judges the candidates before it.
  void append(int32_t token);
  std::span<const int32_t> tokens() const { return context_.tokens(); }
  // S2: what the prompt's logits expect behind its next tokens. Without it there are no calibrated candidates.
  void calibrate(std::span<const int32_t> tokens, std::span<const Successors> successors) {
    prompt_.add(tokens, successors);
  }
  // Looks for candidates behind the text. The first one is the rule's own draft, if there is one. The baselines are
  // sure of it, and have no others but those of S2 and S5, if these are asked for.
  void find_candidates();
  // One more candidate: what a draft model chose. model_chances(): of each of its tokens, before it is known.
  void add_model_candidate(std::vector<int32_t> tokens);
  std::vector<double> model_chances(int64_t tokens) const;
  const std::vector<DraftCandidate>& candidates() const { return candidates_; }  // that were found last
  DraftSource source_of(size_t candidate) const { return origins_[candidate].first.source; }
  // S5: what the model chose at each place of a chain of drafts that ran, and behind it.
  void add_verdict(std::span<const int32_t> chain, std::span<const int32_t> choices);
  // S5: runs that were found, and those whose first token was right when they were offered again.
  struct RunCounts {
    int64_t found = 0, right = 0;
  };
  const RunCounts& run_counts() const { return run_counts_; }

 private:
  // Tokens of a source in this text: how many the rates expected to be accepted, and how many were.
  struct Luck {
    double expected = 0, accepted = 0;
  };
  // What a candidate stands on.
  struct Origin {
    DraftClass first;          // of its first token
    std::vector<int> ranks{};  // S2: of each token among the successors; empty: another source
    size_t judged_before = 0;  // tokens that an earlier candidate of this source has too
    int64_t run = -1;          // S5: the step in which the run was found; -1: another source
    DraftClass of_token(size_t index) const;
  };
  void judge(const DraftClass& of, bool right);
  double chance(const DraftClass& of) const;
  void propose(std::vector<int32_t> tokens, const DraftClass& first);
  int64_t place_in_prompt();
  void propose_baseline();
  void propose_from_context();
  void propose_from_records(HistoryMatcher& matcher, const DraftHistory& records, DraftSource source);
  void propose_reused();
  void propose_calibrated();

  const TextDraftOptions options_;
  AcceptanceRates& rates_;
  SuffixAutomaton context_;
  DraftHistory predictions_, no_history_;
  HistoryMatcher prediction_matcher_, history_matcher_;
  ReusedRuns runs_;
  RunCounts run_counts_;
  std::set<int64_t> right_runs_;
  PromptSuccessors prompt_;
  std::array<Luck, kDraftSources> luck_{};
  std::vector<DraftCandidate> candidates_;
  std::vector<Origin> origins_;  // of the candidates
  size_t judged_ = 0;            // tokens that were appended since candidates were found
};

}  // namespace tandem
