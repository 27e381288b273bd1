// The routing of a trace as one layer's cache sees it: which experts each token asks for, in flat arrays.
//
// Contract: plain values and pure functions. A token's experts stand by falling weight, of equals the lower id first.
// Without weights they stand as they were recorded, and each weighs 1/k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/moe/routing_trace.h"

namespace tandem {

// The experts of one token in one layer.
struct TokenRequest {
  int64_t token = 0;               // place in the layer's requests
  std::span<const int32_t> ids;    // [k]
  std::span<const float> weights;  // [k]
  std::span<const float> scores;   // [E], or empty: the trace has the k weights alone
};

struct LayerRequests {
  int64_t experts = 0, used = 0;   // E, k
  std::vector<int64_t> sequences;  // [tokens]
  std::vector<int32_t> ids;        // [tokens, k]
  std::vector<float> weights;      // [tokens, k]
  std::vector<float> scores;       // [tokens, E], or empty

  int64_t tokens() const { return static_cast<int64_t>(sequences.size()); }
  TokenRequest at(int64_t token) const;
};

// The requests of the layer at that index of trace.layers.
LayerRequests requests_of(const RoutingTrace& trace, size_t layer);

}  // namespace tandem
