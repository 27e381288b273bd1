// S3: the suffix automaton of a text that grows by a token at a time. It finds the longest match of the text's end, and
// what followed where the text said the same before.
//
// A state stands for the strings of tokens that end at the same places. The link of a state leads to the state of the
// longest shorter suffix that ends at more places. A text of n tokens has at most 2 n states, and an append takes O(log
// n) amortized (Blumer et al. 1985; last_ends.h).
//
// Contract
//   Numbers: states and ends are indices from 0. State 0 is the empty string. A text has at most 2^30 tokens.
//   Tokens: ids from 0 on. kSeparator stands between texts that share an automaton: no search goes past it.
//   Threads: one at a time, also for searches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/draft/last_ends.h"

namespace tandem {

inline constexpr int32_t kSeparator = -1;

// Calls use(text) for each of the texts that stand one after another, each followed by kSeparator.
template <typename Use>
void for_each_text(std::span<const int32_t> tokens, const Use& use) {
  while (!tokens.empty()) {
    const auto length = static_cast<size_t>(std::ranges::find(tokens, kSeparator) - tokens.begin());
    use(tokens.first(length));
    tokens = tokens.subspan(length + 1);
  }
}

class SuffixAutomaton {
 public:
  static constexpr int32_t kRoot = 0, kNone = -1;

  SuffixAutomaton() : states_(1) {}
  void append(int32_t token);
  std::span<const int32_t> tokens() const { return tokens_; }
  int32_t states() const { return static_cast<int32_t>(states_.size()); }
  size_t bytes() const;

  // The state of the longest end of the text that also ends at an earlier place. kRoot: not even its last token does.
  int32_t repeated() const { return last_ == kRoot ? kRoot : at(last_).link; }
  int32_t length(int32_t state) const { return at(state).length; }  // tokens of its longest string
  int32_t link(int32_t state) const { return at(state).link; }      // kNone for the root
  int32_t next(int32_t state, int32_t token) const;                 // kNone: no such string
  // The places where the state's strings end first and last. The text's own end counts in last_end() only for the state
  // of the whole text.
  int32_t first_end(int32_t state) const { return at(state).first_end; }
  int32_t last_end(int32_t state) { return last_ends_.of(state); }
  // Calls use(state) for the state behind each token that follows the state's strings, the newest first, until it
  // returns false.
  template <typename Use>
  void for_each_next(int32_t state, const Use& use) const {
    for (int32_t each = at(state).others; each != kNone; each = transition(each).sibling)
      if (!use(transition(each).to)) return;
    if (at(state).first_next != kNone) use(at(state).first_next);
  }

 private:
  // Most states have one transition: on the token behind their first end. It lies in the state itself. Others are in a
  // list, and in a hash table by their state and their token.
  struct State {
    int32_t length = 0, link = kNone, first_end = -1;
    int32_t first_next = kNone;
    int32_t others = kNone;
  };
  struct Transition {
    int32_t from, to, sibling;
  };
  State& at(int32_t state) { return states_[static_cast<size_t>(state)]; }
  const State& at(int32_t state) const { return states_[static_cast<size_t>(state)]; }
  const Transition& transition(int32_t index) const { return transitions_[static_cast<size_t>(index)]; }
  bool follows_first_end(int32_t state, int32_t token) const;
  int32_t find_other(int32_t state, int32_t token) const;
  void set_next(int32_t state, int32_t token, int32_t to);
  void add_other(int32_t state, int32_t to);
  void put_in_table(int32_t index);
  int32_t split(int32_t from, int32_t state, int32_t token);

  std::vector<int32_t> tokens_;
  std::vector<State> states_;
  LastEnds last_ends_;
  std::vector<Transition> transitions_;
  std::vector<int32_t> table_;  // indices of transitions, a power of two of them; kNone: free
  int32_t last_ = kRoot;        // the state of the whole text; its end is not in last_ends_ of its ancestors yet
};

}  // namespace tandem
