// Y4, Y6: what an expert cache of a policy and a budget would have hit on recorded routing.
//
// Contract: pure functions of their arguments. A row counts requests: a token with k experts counts k times in each
// layer. A policy that is judged on the second half counts the requests of that half alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/moe/expert_policy.h"

namespace tandem {

struct ReplaySettings {
  PolicySettings policy;
  bool reset_each = false;  // all anew where the sequence changes
};

struct ReplayRow {
  const PolicyKind* policy = nullptr;
  double budget_percent = 0;
  bool reset_each = false;
  ExpertLookup lookup = ExpertLookup::together;
  int64_t slots = 0;  // C, of each layer
  int64_t requests = 0, hits = 0;
  std::vector<int64_t> hits_by_layer;
  double hit_rate() const;  // 0 without requests
};

ReplayRow replay_cache(std::span<const LayerRequests> layers, const PolicyKind& policy, double budget_percent,
                       const ReplaySettings& settings);

}  // namespace tandem
