#include "engine/constraint/automaton/matcher.h"

#include <utility>

#include "sync/error.h"

namespace tandem::constraint {
namespace {

// A text that has met so many sets starts again with its present set alone, which bounds its memory.
constexpr int64_t kMostSetsOfText = 50'000;
constexpr size_t kMostMasks = 96;  // more than a text's drafts

// Bytes that are no token of their own would lead to places where no token goes on.
const ByteSet& writable(const TokenTexts& tokens) { return tokens.bytes; }

}  // namespace

Automaton::Automaton(const RuleNet& net, std::shared_ptr<const TokenTexts> tokens, const std::string& on)
    : tokens_(std::move(tokens)), locals_(trimmed(net, writable(*tokens_), on)), sets_(locals_, *tokens_) {}

Matcher::Matcher(std::shared_ptr<Automaton> automaton, bool may_stop)
    : automaton_(std::move(automaton)), may_stop_(may_stop) {
  const std::lock_guard lock(automaton_->mutex_);
  stacks_ = std::make_unique<StackSets>(automaton_->locals_);
  at_ = stacks_->begin();
}

// The set behind a token is the set behind its bytes. A token without a text (a special one) leads nowhere.
SetId Matcher::behind(SetId set, int32_t id) {
  const std::string_view text = automaton_->tokens().text(id);
  if (text.empty()) return kNoStack;
  for (const char byte : text) {
    set = stacks_->step(set, static_cast<uint8_t>(byte));
    if (set == kNoStack) break;
  }
  return set;
}

// The tokens of each entry's frame, and those that leave it and can be read below.
const TokenBits& Matcher::mask_of(SetId set) {
  if (const auto known = masks_.find(set); known != masks_.end()) return known->second;
  if (masks_.size() >= kMostMasks) masks_.clear();
  const TokenTexts& tokens = automaton_->tokens();
  // End tokens are decided by the whole stack, so no frame's tokens have them.
  TokenBits mask = may_stop_ && stacks_->may_end(set) ? tokens.ends : TokenBits(tokens.size());
  const auto entries = stacks_->entries(set);
  for (const StackSets::Entry& entry : std::vector(entries.begin(), entries.end())) {
    const std::shared_ptr<const LocalTokens> local = automaton_->sets_.of(entry.local);
    mask.add(local->allowed);
    // A token that leaves the frame is read on by the frames below. The walk goes on from the node where it left.
    if (local->exits.empty()) continue;
    const SetId below = stacks_->behind(entry.node);
    if (stacks_->entries(below).empty()) continue;
    for (const FrameExit& exit : local->exits)
      walk_tokens(*stacks_, below, *exit.trie, static_cast<size_t>(exit.node), mask, nullptr);
  }
  return masks_[set] = std::move(mask);
}

std::span<const uint64_t> Matcher::mask() {
  const std::lock_guard lock(automaton_->mutex_);
  return mask_of(at_).words();
}

// A long text meets ever new stacks, so from time to time only the present one is kept.
bool Matcher::accept(int32_t id) {
  const std::lock_guard lock(automaton_->mutex_);
  const SetId next = behind(at_, id);
  if (next == kNoStack) return false;
  at_ = next;
  if (stacks_->sets() <= kMostSetsOfText) return true;
  auto fresh = std::make_unique<StackSets>(automaton_->locals_);
  at_ = fresh->taken_from(*stacks_, at_);
  stacks_ = std::move(fresh);
  masks_.clear();
  return true;
}

// The masks of drafts are made before the pass whose logits they are for. They are ready when the sampler asks.
void Matcher::prepare(std::span<const int32_t> ids) {
  const std::lock_guard lock(automaton_->mutex_);
  SetId set = at_;
  mask_of(set);
  for (const int32_t id : ids) {
    set = behind(set, id);
    if (set == kNoStack || stacks_->entries(set).empty()) return;
    mask_of(set);
  }
}

}  // namespace tandem::constraint
