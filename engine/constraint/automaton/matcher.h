// The place of one text in its grammar, and the tokens that may come next.
//
// Contract: one object for each text. mask() and accept() may be called by any thread, one at a time; matchers of one
// automaton share what it has found, behind its lock. The result of mask() is valid until the next call. Ownership:
// shares the automaton.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "engine/constraint/automaton/stack_sets.h"
#include "engine/constraint/automaton/token_sets.h"

namespace tandem::constraint {

// A grammar for a vocabulary. It keeps the findings of each text for all others.
class Automaton {
 public:
  // Error: no text can satisfy the grammar with the bytes of this vocabulary; `on` names it.
  Automaton(const RuleNet& net, std::shared_ptr<const TokenTexts> tokens, const std::string& on);

  const TokenTexts& tokens() const { return *tokens_; }

 private:
  friend class Matcher;
  const std::shared_ptr<const TokenTexts> tokens_;
  std::mutex mutex_;  // of the two below
  LocalStates locals_;
  TokenSets sets_;
};

class Matcher {
 public:
  // may_stop: end tokens may come.
  explicit Matcher(std::shared_ptr<Automaton> automaton, bool may_stop = true);

  // A bit for each token that may come next; end tokens where the text may end. There is one unless is_complete().
  std::span<const uint64_t> mask();
  // Takes the text's next token. False: it may not come here, and nothing has changed. An end token is not taken.
  bool accept(int32_t id);
  bool may_end() const { return stacks_->may_end(at_); }
  bool is_complete() const { return stacks_->entries(at_).empty(); }  // the text must end here
  // Makes the masks behind these tokens, one after the other. mask() finds them later. Stops at a wrong one.
  void prepare(std::span<const int32_t> ids);

 private:
  SetId behind(SetId set, int32_t id);
  const TokenBits& mask_of(SetId set);
  const std::shared_ptr<Automaton> automaton_;
  const bool may_stop_;
  std::unique_ptr<StackSets> stacks_;
  SetId at_;
  std::unordered_map<SetId, TokenBits> masks_;
};

}  // namespace tandem::constraint
