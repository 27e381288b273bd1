// What an operator touches, as the schedule sees it: a region of memory, in a cache the tokens at whose positions, and
// in the scratch of an attention the share of its splits.
//
// Positions of a batch ascend with its tokens, so two runs of one batch's tokens append to different places of a cache,
// and a token's attention sees what the tokens up to itself appended (KvAppend, Attention). A region cannot say so:
// where the positions lie is known only when the plan runs.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device/operator.h"

namespace tandem {

struct Access {
  Region region;
  // Of a cache: bytes [tokens_begin, tokens_end) of the slot that holds the batch's positions. Elsewhere: no slot.
  const sync::Slot* positions = nullptr;
  size_t tokens_begin = 0, tokens_end = 0;
  // Of scratch that devices fill together: whose tokens' (as above, without the slot), and the share of their splits.
  int64_t share_begin = 0, share_end = kAttentionShares;
};

// Everything that the operator reads and writes, in the place of what was in the two lists.
void find_accesses(const Operator& op, std::vector<Access>& reads, std::vector<Access>& writes);

// True when one may write what the other one touches.
bool meet(const Access& a, const Access& b);
// True when everything of `a` lies in `by`.
bool is_covered(const Access& a, const Access& by);

}  // namespace tandem
