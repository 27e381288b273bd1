// One layer of a trace as a list of requests, in which a cache is asked. Experts of a token are ordered by weight,
// because the most important one should be the last to leave.
#include "engine/moe/expert_requests.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

// The order of a token's experts: places by falling weight, of equals the lower id first.
std::vector<size_t> by_weight(std::span<const int32_t> ids, std::span<const float> weights) {
  std::vector<size_t> order(ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (weights.empty()) return order;
  std::ranges::sort(
      order, [&](size_t a, size_t b) { return weights[a] != weights[b] ? weights[a] > weights[b] : ids[a] < ids[b]; });
  return order;
}

}  // namespace

TokenRequest LayerRequests::at(int64_t token) const {
  const auto t = static_cast<size_t>(token), k = static_cast<size_t>(used), E = static_cast<size_t>(experts);
  return {token, std::span(ids).subspan(t * k, k), std::span(weights).subspan(t * k, k),
          scores.empty() ? std::span<const float>() : std::span(scores).subspan(t * E, E)};
}

// Scores count only if all tokens have some, so that all tokens are treated alike.
LayerRequests requests_of(const RoutingTrace& trace, size_t layer) {
  LayerRequests requests{trace.experts, trace.used, {}, {}, {}, {}};
  const bool scored = std::ranges::all_of(trace.tokens, [](const TracedToken& token) { return !token.scores.empty(); });
  for (const TracedToken& token : trace.tokens) {
    requests.sequences.push_back(token.sequence);
    const std::vector<int32_t>& ids = token.experts[layer];
    const std::span<const float> weights =
        token.weights.empty() ? std::span<const float>() : std::span(token.weights[layer]);
    for (const size_t place : by_weight(ids, weights)) {
      requests.ids.push_back(ids[place]);
      requests.weights.push_back(weights.empty() ? 1 / static_cast<float>(trace.used) : weights[place]);
    }
    if (scored) requests.scores.insert(requests.scores.end(), token.scores[layer].begin(), token.scores[layer].end());
  }
  return requests;
}

}  // namespace tandem
