#include "engine/constraint/automaton/token_sets.h"

namespace tandem::constraint {
namespace {

constexpr size_t kMostLocalTokens = 1024;  // kept at a time: 20 MB with a vocabulary of 150,000
constexpr int64_t kMostFrameSets = 100'000;
constexpr int32_t kWorthARun = 4;  // nodes of a subtree for which plain characters are counted

}  // namespace

// A subtree of plain tokens is taken as a whole where so many plain characters may follow.
void walk_tokens(StackSets& stacks, SetId from, const TokenTrie& trie, size_t node, TokenBits& allowed,
                 std::vector<FrameExit>* exits, int32_t plain_known) {
  const TokenTrie::Node& top = trie.nodes[node];
  const bool is_plain = trie.nodes[0].most_chars > 0;
  // The tree's nodes are in preorder, so a stack of sets by depth replaces recursion. A node whose byte cannot be read
  // is left with its whole subtree.
  std::vector<SetId> sets{from};  // by depth below the top
  for (auto i = static_cast<int32_t>(node) + 1; i < top.end;) {
    const TokenTrie::Node& at = trie.nodes[static_cast<size_t>(i)];
    if (is_plain && at.most_chars <= plain_known) {
      i = at.end;
      continue;
    }
    const auto depth = static_cast<size_t>(at.depth - top.depth);
    const SetId set = stacks.step(sets[depth - 1], at.byte);
    if (set == kNoStack) {
      i = at.end;
      continue;
    }
    // A subtree is taken as a whole if its longest token still lies within the run of plain characters.
    if (is_plain && at.chars != kInsideCharacter && at.end - i >= kWorthARun && !stacks.may_end(set) &&
        stacks.plain_run(set) >= at.most_chars - at.chars) {
      for (const int32_t id : trie.below(static_cast<size_t>(i))) allowed.set(id);
      i = at.end;
      continue;
    }
    for (const int32_t id : trie.own(at)) allowed.set(id);
    // The bottom was left inside a longer token. Whether its rest can be read depends on the stack below.
    if (exits && stacks.may_end(set) && at.end > i + 1) exits->push_back({&trie, i});
    if (sets.size() <= depth) sets.resize(depth + 1);
    sets[depth] = set;
    ++i;
  }
}

// A cleared cache loses no tokens that somebody holds: each is shared.
std::shared_ptr<const LocalTokens> TokenSets::of(LocalId local) {
  if (const auto known = found_.find(local); known != found_.end()) return known->second;
  if (found_.size() >= kMostLocalTokens) found_.clear();
  return found_[local] = find(local);
}

// Tokens of plain characters within the frame's run are known without a walk. The walk of the plain tree finds longer
// ones, and that of the other tree all the rest.
std::shared_ptr<const LocalTokens> TokenSets::find(LocalId local) {
  if (!frames_ || frames_->sets() > kMostFrameSets) frames_ = std::make_unique<StackSets>(locals_);
  auto tokens = std::make_shared<LocalTokens>();
  const SetId frame = frames_->alone(local);
  const int32_t run = frames_->plain_run(frame);
  const int32_t known = run < kMostPlainRun ? run : kMostPlainRun;
  tokens->allowed = known > 0 ? tokens_.plain_up_to[static_cast<size_t>(known)] : TokenBits(tokens_.size());
  walk_tokens(*frames_, frame, tokens_.plain, 0, tokens->allowed, &tokens->exits, known);
  walk_tokens(*frames_, frame, tokens_.other, 0, tokens->allowed, &tokens->exits);
  return tokens;
}

}  // namespace tandem::constraint
