// The memory that an operator touches, for the schedule: a region, and in some regions a range of tokens or of splits.
//
// A region alone cannot say which places of a KV cache an operator touches, because positions are known only when the
// plan runs. But the positions of a batch ascend with its tokens. So two runs of one batch's tokens append to different
// places of a cache. The attention of a token sees what the tokens up to itself appended (KvAppend, Attention).
//
// Contract: pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

struct Access {
  Region region;
  // In a KV cache: the slot that holds the batch's positions, and bytes [tokens_begin, tokens_end) of it.
  // Elsewhere: nullptr.
  const sync::Slot* positions = nullptr;
  size_t tokens_begin = 0, tokens_end = 0;
  // In scratch that devices fill together: the tokens (as above, without the slot) and the share of their splits.
  int64_t share_begin = 0, share_end = kAttentionShares;
};

// Replaces the contents of both lists by all that the operator reads and writes.
void find_accesses(const Operator& op, std::vector<Access>& reads, std::vector<Access>& writes);

// True when both may touch the same memory.
bool meet(const Access& a, const Access& b);
// True when everything of `a` lies in `by`.
bool is_covered(const Access& a, const Access& by);

}  // namespace tandem
