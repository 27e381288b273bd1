// Statistics of recorded routing, before any cache policy: how often each expert is used, how soon it is used again,
// and how many different experts some tokens use.
//
// Contract: pure functions of the requests of layers. Tokens of all sequences follow each other as in the trace.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/moe/expert_requests.h"

namespace tandem {

// Requests by how many tokens ago their expert was asked for last in its layer. again[i]: at least 2^i and fewer than
// 2^(i+1) tokens ago.
struct ReuseDistances {
  std::vector<int64_t> again;
  int64_t never = 0;     // first requests
  int64_t requests = 0;  // all
};
ReuseDistances reuse_distances(std::span<const LayerRequests> layers);

// Different experts that a window of so many tokens uses in a layer: the mean over all windows that do not overlap and
// are whole. 0 if there is no such window.
double experts_in_window(std::span<const LayerRequests> layers, int64_t window);

// How often each expert of the layer is asked for, [E].
std::vector<int64_t> uses_of(const LayerRequests& layer);

}  // namespace tandem
