// Which tokens may follow: walks of the trees of tokens along sets of stacks.
//
// For one local state, most tokens are decided without the rest of the stack: they stay in the frame, or they cannot be
// read. They are found once for each local state. A token that leaves the frame is decided by what is below: its path
// is remembered up to there, and only the rest of it is walked for a real stack. (The division into tokens that depend
// on the stack and those that do not is that of XGrammar, Dong et al. 2024.)
//
// Contract: not thread-safe. Borrows the tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/constraint/automaton/stack_sets.h"
#include "engine/constraint/automaton/token_trie.h"

namespace tandem::constraint {

// The tokens below a node of a tree, behind the point where the frame was left.
struct FrameExit {
  const TokenTrie* trie;
  int32_t node;
};

struct LocalTokens {
  TokenBits allowed;
  std::vector<FrameExit> exits;
};

// Walks the subtree below a node, without the node itself, from this set of stacks. Adds tokens that can be read.
// exits: gets the nodes at which the bottom was left, and that have others below; null: the walk ends with the stack.
// plain_known: tokens of so many plain characters are in `allowed` already.
void walk_tokens(StackSets& stacks, SetId from, const TokenTrie& trie, size_t node, TokenBits& allowed,
                 std::vector<FrameExit>* exits, int32_t plain_known = 0);

class TokenSets {
 public:
  TokenSets(LocalStates& locals, const TokenTexts& tokens) : locals_(locals), tokens_(tokens) {}
  // The tokens of one local state. The object may be dropped from the cache later, not while it is held.
  std::shared_ptr<const LocalTokens> of(LocalId local);

 private:
  std::shared_ptr<const LocalTokens> find(LocalId local);
  LocalStates& locals_;
  const TokenTexts& tokens_;
  std::unique_ptr<StackSets> frames_;  // stacks above one frame
  std::unordered_map<LocalId, std::shared_ptr<const LocalTokens>> found_;
};

}  // namespace tandem::constraint
