// A cache of C expert slots of one layer, empty at first. Pure: it holds ids, no weights.
//
// Contract: one thread. The policy is borrowed and must outlive the cache. A token is looked up by ask(), which returns
// its hits. A miss is inserted into a free slot, or in place of the policy's victim. With ExpertLookup::together the
// experts that this token asks for are never victims, so with fewer than k slots some of its misses are not inserted.
// Insertion::if_nearer knows no such exception: the nearest next uses of the cache and the token stay.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/moe/expert_policy.h"

namespace tandem {

class ExpertCache {
 public:
  ExpertCache(int64_t experts, int64_t slots, ExpertPolicy& policy, Insertion insertion, ExpertLookup lookup);

  void begin();  // all anew: the policy's state, and the slots
  int64_t ask(const TokenRequest& request);
  bool has(int32_t expert) const { return is_resident_[static_cast<size_t>(expert)] != 0; }

 private:
  int64_t ask_together(const TokenRequest& request);
  int64_t ask_singly(const TokenRequest& request);
  void insert(int32_t expert);  // if there is a slot for it

  const size_t slots_;  // C
  ExpertPolicy& policy_;
  const Insertion insertion_;
  const ExpertLookup lookup_;
  std::vector<int32_t> residents_;           // at most C ids, in no order
  std::vector<uint8_t> is_resident_;         // [E]
  std::vector<int32_t> missed_, may_leave_;  // of the present token
};

// Y6: slots of a layer for a budget in percent of its E experts. At least one.
int64_t slots_for(int64_t experts, double budget_percent);

}  // namespace tandem
