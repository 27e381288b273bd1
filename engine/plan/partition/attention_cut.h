// Shares an attention between two devices that see one KV cache. The second device gets whole KV heads, and some splits
// of the cache for one head more. Whole heads alone would leave the devices uneven, because models have few KV heads
// and decoding is bound by reading the cache.
//
// The second device takes the last heads, and the last splits of the shared head. It computes these splits first, so
// the first device seldom waits before it merges the shared head. All parts together write the same bits as the whole.
//
// Contract: pure functions. Seconds come from the caller, either estimated for this machine or modelled.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/operator.h"
#include "engine/plan/partition/sharing_costs.h"

namespace tandem {

// The parts of each device, in order. `closing` runs on the first device when both have computed their splits of the
// shared head.
struct AttentionParts {
  std::vector<Operator> first, second, closing;
};

// The parts if the second device takes `shares_of_second` shares. Each KV head counts as kAttentionShares shares. op: a
// whole attention; it needs scratch if a head is shared.
AttentionParts attention_parts(const Operator& op, int64_t shares_of_second);

// The number of shares for the second device with which the attention ends soonest. 0: sharing does not pay, and
// everything stays on the first device. Without scratch, only whole heads are shared.
int64_t best_attention_shares(const Operator& op, const SharingCosts& costs);

}  // namespace tandem
