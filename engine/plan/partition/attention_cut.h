// How an attention is shared by two devices that see one cache: whole KV heads, and of one head more the splits of the
// cache. Heads alone would leave much over, as models have few KV heads and decoding is bound by reading the cache.
//
// The second device takes the last heads, and of the shared head the last splits, which it computes first: the first
// device merges that head, and seldom waits for it. All parts together write what the whole writes, bit for bit.
//
// All functions are pure. Seconds are what the caller measured or modelled.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/device/operator.h"
#include "engine/plan/partition/sharing_costs.h"

namespace tandem {

// What each device computes, in order. `closing` follows on the first device when both are done with the shared head.
struct AttentionParts {
  std::vector<Operator> first, second, closing;
};

// The parts when the second device takes so many of the kAttentionShares parts of each KV head. A whole attention; with
// scratch, if a head is shared.
AttentionParts attention_parts(const Operator& op, int64_t shares_of_second);

// The second device's shares with which all is done soonest; 0: it does not pay, all of it stays on the first device.
// Without scratch, whole heads.
int64_t best_attention_shares(const Operator& op, const SharingCosts& costs);

}  // namespace tandem
