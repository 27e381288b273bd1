// Policies of expert caches on requests that can be worked out by hand: who leaves, who stays, and what is hit.
#include "engine/moe/expert_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/moe/cache_replay.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

// Tokens of one layer, each with its experts by falling weight.
LayerRequests layer_of(int64_t experts, const std::vector<std::vector<int32_t>>& tokens) {
  LayerRequests layer{experts, static_cast<int64_t>(tokens.front().size()), {}, {}, {}, {}};
  for (const auto& ids : tokens) {
    layer.sequences.push_back(0);
    layer.ids.insert(layer.ids.end(), ids.begin(), ids.end());
    for (size_t i = 0; i < ids.size(); ++i) layer.weights.push_back(1 / static_cast<float>(i + 1));
  }
  return layer;
}

// A cache with its policy, which is asked for the layer's tokens one by one.
class Cached {
 public:
  Cached(const char* policy, int64_t slots, LayerRequests layer, PolicySettings settings = {})
      : layer_(std::move(layer)),
        kind_(*expert_policy(policy)),
        policy_(kind_.make(settings, layer_)),
        cache_(layer_.experts, slots, *policy_, kind_.insertion, settings.lookup) {}

  int64_t next() { return cache_.ask(layer_.at(token_++)); }
  std::vector<int32_t> residents() const {
    std::vector<int32_t> all;
    for (int32_t expert = 0; expert < layer_.experts; ++expert)
      if (cache_.has(expert)) all.push_back(expert);
    return all;
  }
  std::vector<int64_t> hits() {
    std::vector<int64_t> all;
    while (token_ < layer_.tokens()) all.push_back(next());
    return all;
  }

 private:
  const LayerRequests layer_;
  const PolicyKind& kind_;
  const std::unique_ptr<ExpertPolicy> policy_;
  ExpertCache cache_;
  int64_t token_ = 0;
};

TEST(ExpertCache, begins_empty_and_fills_its_slots_first) {
  Cached cache("lru", 3, layer_of(8, {{5, 1}, {5, 2}, {5, 1}}));
  EXPECT_EQ(cache.next(), 0);
  EXPECT_THAT(cache.residents(), ElementsAre(1, 5));
  EXPECT_EQ(cache.next(), 1);
  EXPECT_THAT(cache.residents(), ElementsAre(1, 2, 5));
  EXPECT_EQ(cache.next(), 2);
}

TEST(ExpertCache, of_lru_gives_up_the_expert_whose_last_token_is_longest_ago) {
  // 0 and 1, then 2 and 1, then 3 and 4: 0 was asked by token 0, 1 and 2 by token 1.
  Cached cache("lru", 3, layer_of(8, {{0, 1}, {2, 1}, {3, 4}}));
  cache.next();
  cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(0, 1, 2));
  cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(2, 3, 4)) << "0 leaves first, then of 1 and 2 the lower id";
}

TEST(ExpertCache, of_lfu_counts_experts_that_left_too) {
  // 0 is asked three times and leaves for none; 1 and 2 once each, 1 longer ago. Then 1 returns with a count of 2.
  Cached cache("lfu", 2, layer_of(4, {{0}, {0}, {0}, {1}, {2}, {1}, {3}}));
  for (int i = 0; i < 5; ++i) cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(0, 2)) << "1 and not 0 leaves for 2";
  cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(0, 1));
  cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(0, 3)) << "1 has a count of 2, 0 of 3";
}

// alpha 1/2, p = 2k = 2, scores of all four experts.
//   token 0, scores 0.5 0.3 0.1 0.1, asks 0: S = 0.25, 0.15, 0, 0
//   token 1, scores 0.1 0.2 0.6 0.1, asks 2: S = 0.125, 0.075 + 0.1 = 0.175, 0.3, 0
//   token 2, scores 0.1 0.1 0.2 0.6, asks 3: S = 0.0625, 0.0875, 0.15 + 0.1 = 0.25, 0.3
// Two slots: 0 and 2; then 3 comes, and 0 leaves (0.0625 < 0.25).
TEST(ExpertCache, of_mrs_gives_up_the_least_recent_score) {
  LayerRequests layer = layer_of(4, {{0}, {2}, {3}, {1}});
  layer.scores = {0.5f, 0.3f, 0.1f, 0.1f, 0.1f, 0.2f, 0.6f, 0.1f, 0.1f, 0.1f, 0.2f, 0.6f, 0.3f, 0.6f, 0.0f, 0.1f};
  Cached cache("mrs", 2, layer);
  cache.next();
  cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(0, 2));
  cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(2, 3));
  // token 3, scores 0.3 0.6 0 0.1, asks 1: S of 2 is 0.125, of 3 is 0.15.
  cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(1, 3));
}

// The scores of token 1 are 0.4 0.3 0.3 0: with p = 2 the second is expert 1, of equals the lower id.
//   alpha 1/2: token 0 (0 0 0 1, asks 3): S3 = 0.5. Token 1 asks 0: S = 0.2, 0.15, 0, 0.25. Token 2 (0 0 0.5 0.5, asks
//   2): S = 0.1, 0.075, 0.25, 0.375. Token 3 asks 1 with scores 0 0.2 0.1 0: S = 0.05, 0.1375, 0.175, 0.1875.
TEST(ExpertCache, of_mrs_keeps_of_equal_scores_those_of_the_lower_ids) {
  LayerRequests layer = layer_of(4, {{3}, {0}, {2}, {1}});
  layer.scores = {0, 0, 0, 1, 0.4f, 0.3f, 0.3f, 0, 0, 0, 0.5f, 0.5f, 0, 0.2f, 0.1f, 0};
  PolicySettings settings;
  const auto policy = expert_policy("mrs")->make(settings, layer);
  policy->begin();
  const std::vector<int32_t> middle = {1, 2};
  for (int64_t token = 0; token < 2; ++token) policy->take_token(layer.at(token));
  EXPECT_EQ(policy->victim(middle), 2) << "0.15 against 0";
  policy->take_token(layer.at(2));
  EXPECT_EQ(policy->victim(middle), 1) << "0.075 against 0.25";
  const std::vector<int32_t> all = {3, 2, 1, 0};
  policy->take_token(layer.at(3));
  EXPECT_EQ(policy->victim(all), 0);
}

// Without scores the k weights count. p = 1 keeps the largest: 1 (of 0) and then 1 (of 2); 1 and 3 never count.
TEST(ExpertCache, of_mrs_takes_weights_where_there_are_no_scores) {
  PolicySettings settings;
  settings.top = 1;
  Cached cache("mrs", 3, layer_of(5, {{0, 1}, {2, 3}, {4, 1}}), settings);
  cache.next();
  cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(0, 2, 3)) << "1 has S = 0, 0 has 0.25";
  PolicySettings fast = settings;
  fast.top = 0;  // 2k: the second weights count too: S1 = 0.5 * 0.5 * 0.5, S0 = 0.25
  Cached other("mrs", 3, layer_of(5, {{0, 1}, {2, 3}, {4, 1}}), fast);
  other.next();
  other.next();
  EXPECT_THAT(other.residents(), ElementsAre(0, 2, 3));
}

// alpha 0.5: 0 is chosen twice long ago (S = 0.75, then halves), 1 once lately.
//   after 0, 0, 1: S0 = 0.375, S1 = 0.5. LFU would give up 1.
TEST(ExpertCache, of_ema_forgets_old_uses) {
  PolicySettings settings;
  settings.ema_alpha = 0.5;
  Cached cache("ema", 2, layer_of(4, {{0}, {0}, {1}, {2}}), settings);
  cache.hits();
  EXPECT_THAT(cache.residents(), ElementsAre(1, 2));
}

// alpha 0.25. After three uses S0 = 0.25 (1 + 0.75 + 0.5625) = 0.578. One use of 1 later S0 = 0.434 and S1 = 0.25, so
// 1 leaves. If the old score kept a quarter only, S0 would be 0.082.
TEST(ExpertCache, of_ema_weighs_the_new_token_by_alpha) {
  PolicySettings settings;
  settings.ema_alpha = 0.25;
  Cached often("ema", 2, layer_of(4, {{0}, {0}, {0}, {1}, {2}}), settings);
  often.hits();
  EXPECT_THAT(often.residents(), ElementsAre(0, 2));
}

TEST(ExpertCache, of_belady_gives_up_the_farthest_next_use) {
  // When 2 comes, 0 is used again at token 3 and 1 at token 4.
  Cached cache("belady", 2, layer_of(4, {{0}, {1}, {2}, {0}, {1}}));
  EXPECT_THAT(cache.hits(), ElementsAre(0, 0, 0, 1, 0));
  // With bypass, 2 itself is used never again and is not inserted.
  Cached bypass("bypass", 2, layer_of(4, {{0}, {1}, {2}, {0}, {1}}));
  EXPECT_THAT(bypass.hits(), ElementsAre(0, 0, 0, 1, 1));
}

TEST(ExpertCache, of_bypass_may_give_up_what_the_token_asks_for) {
  // 0 and 1 fill the slots. Token 1 asks 0 and 2; afterwards 1 and 2 are used before 0.
  Cached cache("bypass", 2, layer_of(4, {{0, 1}, {0, 2}, {1, 2}, {0, 3}}));
  cache.next();
  EXPECT_EQ(cache.next(), 1);
  EXPECT_THAT(cache.residents(), ElementsAre(1, 2));
  EXPECT_EQ(cache.next(), 2);
}

// 1 and 2 are asked twice, 0 and 3 once: of 0 and 3 the lower id stays.
TEST(ExpertCache, of_a_fixed_policy_never_changes) {
  Cached cache("static", 3, layer_of(4, {{1, 2}, {0, 3}, {1, 2}}));
  EXPECT_THAT(cache.residents(), ElementsAre(0, 1, 2));
  EXPECT_THAT(cache.hits(), ElementsAre(2, 1, 2));
  EXPECT_THAT(cache.residents(), ElementsAre(0, 1, 2));
}

TEST(ExpertCache, counts_a_tokens_hits_before_it_inserts_anything) {
  // Two slots hold 0 and 1. Token 1 asks 2, 0: together 0 is hit and stays. Singly 2 comes first and throws 0 out.
  const LayerRequests layer = layer_of(4, {{0, 1}, {2, 0}});
  Cached together("lru", 2, layer);
  together.next();
  EXPECT_EQ(together.next(), 1);
  EXPECT_THAT(together.residents(), ElementsAre(0, 2));
  PolicySettings settings;
  settings.lookup = ExpertLookup::single;
  Cached single("lru", 2, layer, settings);
  single.next();
  EXPECT_EQ(single.next(), 0);
  EXPECT_THAT(single.residents(), ElementsAre(0, 2)) << "1 left for 0, because 2 came later";
}

TEST(ExpertCache, with_fewer_slots_than_a_token_asks_keeps_the_heaviest) {
  Cached cache("lru", 2, layer_of(8, {{7, 3, 5}, {1, 7, 2}}));
  cache.next();
  EXPECT_THAT(cache.residents(), ElementsAre(3, 7));
  EXPECT_EQ(cache.next(), 1);
  EXPECT_THAT(cache.residents(), ElementsAre(1, 7)) << "7 is asked for and stays, 2 finds no slot";
  Cached one("mrs", 1, layer_of(8, {{7, 3, 5}, {3, 5, 7}}));
  EXPECT_THAT(one.hits(), ElementsAre(0, 1));
}

TEST(ExpertCache, has_a_slot_for_any_budget) {
  EXPECT_EQ(slots_for(64, 25), 16);
  EXPECT_EQ(slots_for(60, 35), 21);
  EXPECT_EQ(slots_for(60, 33), 19);
  EXPECT_EQ(slots_for(8, 1), 1);
  EXPECT_EQ(slots_for(8, 100), 8);
  EXPECT_EQ(slots_for(1000, 0.3), 3);
}

TEST(ExpertPolicies, are_found_by_their_names_alone) {
  for (const char* name : {"lru", "lfu", "mrs", "ema", "auto", "belady", "bypass", "static", "half"})
    ASSERT_NE(expert_policy(name), nullptr) << name;
  EXPECT_EQ(expert_policy("fifo"), nullptr);
  EXPECT_EQ(expert_policies().size(), 9u);
}

}  // namespace
}  // namespace tandem
