// The factories of the policies, one for each file of this folder.
#pragma once

#include <memory>

#include "engine/moe/expert_policy.h"

namespace tandem {

using MadePolicy = std::unique_ptr<ExpertPolicy>;

MadePolicy make_lru(const PolicySettings& settings, const LayerRequests& requests);
MadePolicy make_lfu(const PolicySettings& settings, const LayerRequests& requests);
MadePolicy make_mrs(const PolicySettings& settings, const LayerRequests& requests);
MadePolicy make_ema(const PolicySettings& settings, const LayerRequests& requests);
MadePolicy make_belady(const PolicySettings& settings, const LayerRequests& requests);  // bypass too
MadePolicy make_static(const PolicySettings& settings, const LayerRequests& requests);
MadePolicy make_auto(const PolicySettings& settings, const LayerRequests& requests);
MadePolicy make_half(const PolicySettings& settings, const LayerRequests& requests);

// The time of a request: its token, or the request itself where a token's experts come one by one.
inline int64_t time_of(const TokenRequest& request, size_t rank, ExpertLookup lookup) {
  if (lookup == ExpertLookup::together) return request.token;
  return request.token * static_cast<int64_t>(request.ids.size()) + static_cast<int64_t>(rank);
}

// The tokens that `half` counts. The others judge it.
inline int64_t first_half(int64_t tokens) { return tokens / 2; }

}  // namespace tandem
