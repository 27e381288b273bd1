// Replays a trace against a cache of ids. No weights move, and every policy sees the same requests.
#include "engine/moe/cache_replay.h"

#include "engine/moe/expert_cache.h"
#include "engine/moe/policies/policies.h"

namespace tandem {
namespace {

// A sequence that comes back after another one begins anew too.
int64_t hits_of(const LayerRequests& layer, const PolicyKind& kind, int64_t slots, const ReplaySettings& settings) {
  PolicySettings own = settings.policy;
  own.slots = slots;
  const auto policy = kind.make(own, layer);
  ExpertCache cache(layer.experts, slots, *policy, kind.insertion, settings.policy.lookup);
  const int64_t judged_from = kind.second_half ? first_half(layer.tokens()) : 0;
  int64_t hits = 0;
  for (int64_t token = 0; token < layer.tokens(); ++token) {
    const auto t = static_cast<size_t>(token);
    if (settings.reset_each && token > 0 && layer.sequences[t] != layer.sequences[t - 1]) cache.begin();
    const int64_t hit = cache.ask(layer.at(token));
    if (token >= judged_from) hits += hit;
  }
  return hits;
}

}  // namespace

// A trace without requests has no hits either.
double ReplayRow::hit_rate() const {
  return requests == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(requests);
}

// Layers have caches of their own, because an expert of one layer is of no use to another. A policy that has learnt
// from the first half is judged on the second half alone.
ReplayRow replay_cache(std::span<const LayerRequests> layers, const PolicyKind& policy, double budget_percent,
                       const ReplaySettings& settings) {
  ReplayRow row{&policy, budget_percent, settings.reset_each, settings.policy.lookup, 0, 0, 0, {}};
  for (const LayerRequests& layer : layers) {
    row.slots = slots_for(layer.experts, budget_percent);
    row.hits_by_layer.push_back(hits_of(layer, policy, row.slots, settings));
    row.hits += row.hits_by_layer.back();
    row.requests += (layer.tokens() - (policy.second_half ? first_half(layer.tokens()) : 0)) * layer.used;
  }
  return row;
}

}  // namespace tandem
