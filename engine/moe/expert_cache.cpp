// Which experts have a slot, as ids. A policy names the victims, and this class keeps the set and counts hits.
#include "engine/moe/expert_cache.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sync/error.h"

namespace tandem {

ExpertCache::ExpertCache(int64_t experts, int64_t slots, ExpertPolicy& policy, Insertion insertion, ExpertLookup lookup)
    : slots_(static_cast<size_t>(slots)),
      policy_(policy),
      insertion_(insertion),
      lookup_(lookup),
      is_resident_(static_cast<size_t>(experts)) {
  TANDEM_CHECK(slots >= 1 && slots <= experts, "slots of an expert cache");
  begin();
}

// A fixed cache holds from the beginning what the policy would give up last.
void ExpertCache::begin() {
  policy_.begin();
  residents_.clear();
  std::ranges::fill(is_resident_, uint8_t{0});
  if (insertion_ != Insertion::fixed) return;
  residents_.resize(is_resident_.size());
  std::iota(residents_.begin(), residents_.end(), 0);
  while (residents_.size() > slots_) std::erase(residents_, policy_.victim(residents_));
  for (const int32_t expert : residents_) is_resident_[static_cast<size_t>(expert)] = 1;
}

// All experts of a token at once, as an engine asks for them, or one after another (ExpertLookup).
int64_t ExpertCache::ask(const TokenRequest& request) {
  policy_.take_token(request);
  return lookup_ == ExpertLookup::together ? ask_together(request) : ask_singly(request);
}

// Hits are counted first. Then the policy takes in every expert, and what was missed is inserted by falling weight.
int64_t ExpertCache::ask_together(const TokenRequest& request) {
  missed_.clear();
  for (const int32_t expert : request.ids)
    if (!has(expert)) missed_.push_back(expert);
  for (size_t rank = 0; rank < request.ids.size(); ++rank) policy_.take(request, rank);
  const int64_t hits = std::ssize(request.ids) - std::ssize(missed_);
  if (missed_.empty() || insertion_ == Insertion::fixed) return hits;
  may_leave_.clear();
  for (const int32_t expert : residents_)
    if (insertion_ == Insertion::if_nearer || std::ranges::find(request.ids, expert) == request.ids.end())
      may_leave_.push_back(expert);
  for (const int32_t expert : missed_) insert(expert);
  return hits;
}

// A victim leaves for the expert, unless a slot is free.
void ExpertCache::insert(int32_t expert) {
  const bool may_be_victim = insertion_ == Insertion::if_nearer;
  if (may_be_victim) may_leave_.push_back(expert);
  if (residents_.size() < slots_) {
    residents_.push_back(expert);
    is_resident_[static_cast<size_t>(expert)] = 1;
    return;
  }
  if (may_leave_.empty()) return;
  const int32_t victim = policy_.victim(may_leave_);
  std::erase(may_leave_, victim);
  if (victim == expert) return;
  *std::ranges::find(residents_, victim) = expert;
  is_resident_[static_cast<size_t>(victim)] = 0;
  is_resident_[static_cast<size_t>(expert)] = 1;
}

// Each expert is counted, taken in and inserted before the next one.
int64_t ExpertCache::ask_singly(const TokenRequest& request) {
  int64_t hits = 0;
  for (size_t rank = 0; rank < request.ids.size(); ++rank) {
    const int32_t expert = request.ids[rank];
    const bool is_hit = has(expert);
    hits += is_hit ? 1 : 0;
    policy_.take(request, rank);
    if (is_hit || insertion_ == Insertion::fixed) continue;
    may_leave_ = residents_;
    insert(expert);
  }
  return hits;
}

// A part of a percent may come out a little below a whole number of slots.
int64_t slots_for(int64_t experts, double budget_percent) {
  const double slots = static_cast<double>(experts) * budget_percent / 100;
  return std::clamp(static_cast<int64_t>(std::floor(slots + 1e-9)), int64_t{1}, experts);
}

}  // namespace tandem
