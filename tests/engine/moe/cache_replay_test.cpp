// Replays of recorded routing: what counts, what begins anew, and the figures of a real trace.
#include "engine/moe/cache_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/data.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

// Two layers of four experts, one of each token, two sequences.
RoutingTrace small_trace() {
  RoutingTrace trace{"m", 4, 1, {0, 1}, {}};
  const std::vector<std::vector<int32_t>> experts = {{0, 3}, {0, 2}, {1, 3}, {0, 3}};
  for (size_t i = 0; i < experts.size(); ++i)
    trace.tokens.push_back({i < 2 ? 0 : 1, static_cast<int64_t>(i % 2), {{experts[i][0]}, {experts[i][1]}}, {}, {}});
  return trace;
}

std::vector<LayerRequests> layers_of(const RoutingTrace& trace) {
  std::vector<LayerRequests> layers;
  for (size_t l = 0; l < trace.layers.size(); ++l) layers.push_back(requests_of(trace, l));
  return layers;
}

ReplayRow row_of(const std::vector<LayerRequests>& layers, const char* policy, double budget, bool each = false,
                 ExpertLookup lookup = ExpertLookup::together) {
  ReplaySettings settings;
  settings.reset_each = each;
  settings.policy.lookup = lookup;
  return replay_cache(layers, *expert_policy(policy), budget, settings);
}

TEST(CacheReplay, counts_hits_of_each_layer) {
  const auto layers = layers_of(small_trace());
  const ReplayRow row = row_of(layers, "lru", 50);
  EXPECT_EQ(row.slots, 2);
  EXPECT_EQ(row.requests, 8);
  EXPECT_THAT(row.hits_by_layer, ElementsAre(2, 2)) << "0 0 1 0, and 3 2 3 3";
  EXPECT_EQ(row.hits, 4);
  EXPECT_DOUBLE_EQ(row.hit_rate(), 0.5);
}

TEST(CacheReplay, begins_anew_with_each_sequence_if_it_is_asked_to) {
  const auto layers = layers_of(small_trace());
  EXPECT_THAT(row_of(layers, "lru", 50, true).hits_by_layer, ElementsAre(1, 1)) << "0 0 | 1 0, and 3 2 | 3 3";
  EXPECT_THAT(row_of(layers, "static", 50, true).hits_by_layer, ElementsAre(4, 4)) << "a fixed set has no beginning";
}

TEST(CacheReplay, of_half_is_judged_on_the_second_half_alone) {
  const ReplayRow row = row_of(layers_of(small_trace()), "half", 25);
  EXPECT_EQ(row.requests, 4);
  EXPECT_THAT(row.hits_by_layer, ElementsAre(1, 0)) << "0 of 1 0; of 2 and 3 the lower id, of 3 3";
}

TEST(CacheReplay, hits_at_most_what_the_bounds_hit) {
  RoutingTrace trace{"m", 12, 3, {0}, {}};
  uint32_t state = 7;
  for (int64_t position = 0; position < 400; ++position) {
    std::vector<int32_t> ids;
    while (ids.size() < 3) {
      state = state * 1664525 + 1013904223;
      const auto id = static_cast<int32_t>((state >> 16) % 12 * ((state >> 28) % 2 + 1) / 2);
      if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    }
    trace.tokens.push_back({0, position, {ids}, {{0.5f, 0.3f, 0.2f}}, {}});
  }
  const auto layers = layers_of(trace);
  for (const double budget : {9.0, 25.0, 50.0, 75.0, 100.0}) {
    for (const ExpertLookup lookup : {ExpertLookup::together, ExpertLookup::single}) {
      const int64_t belady = row_of(layers, "belady", budget, false, lookup).hits,
                    bypass = row_of(layers, "bypass", budget, false, lookup).hits;
      EXPECT_LE(belady, bypass) << budget;
      for (const char* policy : {"lru", "lfu", "mrs", "ema"}) {
        const int64_t hits = row_of(layers, policy, budget, false, lookup).hits;
        EXPECT_LE(hits, belady) << policy << " " << budget;
        if (budget == 100.0) {
          EXPECT_EQ(hits, 1200 - 12) << "every expert is missed once";
        }
      }
      EXPECT_LE(row_of(layers, "static", budget, false, lookup).hits, bypass + 12) << "resident from the beginning";
    }
  }
}

TEST(CacheReplay, orders_a_tokens_experts_by_weight_then_id) {
  RoutingTrace trace{"m", 8, 3, {0}, {}};
  trace.tokens.push_back({0, 0, {{6, 5, 1}}, {{0.2f, 0.6f, 0.2f}}, {}});
  EXPECT_THAT(requests_of(trace, 0).ids, ElementsAre(5, 1, 6));
  trace.tokens.front().weights.clear();
  const LayerRequests bare = requests_of(trace, 0);
  EXPECT_THAT(bare.ids, ElementsAre(6, 5, 1)) << "as recorded";
  EXPECT_THAT(bare.weights, ElementsAre(1 / 3.0f, 1 / 3.0f, 1 / 3.0f));
}

// Another program worked out the same rules: 35.5 and 38.2 % of LRU, 38.4 and 38.4 % of MRS, at 16 of 64 slots.
TEST(CacheReplay, of_flame_moe_has_the_known_hit_rates) {
  const auto path = testing::test_data("moe-traces/flame-moe-290m/prefill_topk.jsonl");
  if (!path) SKIP_FOR_WANT_OF(data, "no moe-traces");
  const auto layers = layers_of(read_routing_trace(*path));
  const auto hits = [&](const char* policy, ExpertLookup lookup) {
    const ReplayRow row = row_of(layers, policy, 25, false, lookup);
    EXPECT_EQ(row.requests, 98304);
    return row.hits;
  };
  EXPECT_EQ(hits("lru", ExpertLookup::single), 34861);
  EXPECT_EQ(hits("lru", ExpertLookup::together), 37538);
  EXPECT_EQ(hits("mrs", ExpertLookup::single), 37739);
  EXPECT_EQ(hits("mrs", ExpertLookup::together), 37738);
}

// Within a point of the best policy for an engine, at each budget and by both lookups.
TEST(CacheReplay, of_auto_is_as_good_as_the_best_policy_on_flame_moe) {
  const auto path = testing::test_data("moe-traces/flame-moe-290m/prefill_topk.jsonl");
  if (!path) SKIP_FOR_WANT_OF(data, "no moe-traces");
  const auto layers = layers_of(read_routing_trace(*path));
  for (const auto lookup : {ExpertLookup::together, ExpertLookup::single})
    for (const double budget : {25.0, 50.0, 75.0}) {
      const auto rate = [&](const char* policy) { return row_of(layers, policy, budget, false, lookup).hit_rate(); };
      const double best = std::max({rate("lru"), rate("lfu"), rate("mrs"), rate("ema")});
      EXPECT_GE(rate("auto"), best - 0.01) << budget << " %";
      EXPECT_GT(rate("auto"), rate("lfu") - 0.01);
    }
}

// Half of the time one expert after another comes back at once, and then two are popular among many.
TEST(CacheReplay, of_auto_follows_the_policy_that_misses_least_lately) {
  RoutingTrace trace;
  trace.layers = {0};
  trace.experts = 40, trace.used = 1;
  for (int32_t i = 0; i < 6000; ++i) {
    const int32_t recent = i / 3 % 40, popular = i % 2 == 0 ? i / 2 % 2 : 2 + i / 2 % 38;
    TracedToken token;
    token.position = i;
    token.experts = {{i < 3000 ? recent : popular}};
    token.weights = {{1.0F}};
    trace.tokens.push_back(std::move(token));
  }
  const auto layers = std::vector{requests_of(trace, 0)};
  const auto hits = [&](const char* policy) { return row_of(layers, policy, 10).hits; };
  EXPECT_GE(hits("auto") + 100, std::max({hits("lru"), hits("lfu"), hits("mrs"), hits("ema")}));
}

}  // namespace
}  // namespace tandem
