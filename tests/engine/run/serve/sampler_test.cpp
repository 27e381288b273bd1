#include "engine/run/serve/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace tandem {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> ids(const std::vector<Candidate>& candidates) {
  std::vector<int32_t> list;
  for (const Candidate& c : candidates) list.push_back(c.id);
  return list;
}

std::vector<Candidate> with_probabilities(std::initializer_list<float> probabilities) {
  std::vector<Candidate> list;
  for (float p : probabilities) list.push_back({static_cast<int32_t>(list.size()), 0, p});
  return list;
}

TEST(GreedyChoice, takes_the_lowest_index_of_equals) {
  const float logits[] = {1, 5, 5, 2};
  EXPECT_EQ(greedy_choice(logits), 1);
}

// Vocabularies have any size, and their logits are often equal: few different values, or only one.
TEST(GreedyChoice, and_top_k_are_what_a_sorted_vocabulary_begins_with) {
  std::mt19937 random(1);
  for (const size_t size : {1u, 63u, 64u, 65u, 200u, 1000u}) {
    for (const uint32_t values : {1u, 5u, 1000u}) {
      std::vector<float> logits(size);
      for (float& logit : logits) logit = static_cast<float>(random() % values) - 700;
      std::vector<int32_t> sorted(size);
      std::iota(sorted.begin(), sorted.end(), 0);
      std::ranges::stable_sort(sorted, [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
      EXPECT_EQ(greedy_choice(logits), sorted.front());
      for (const int k : {1, 7, 40, 0}) {
        const size_t kept = k == 0 ? size : std::min(size, static_cast<size_t>(k));
        EXPECT_EQ(ids(keep_top_k(logits, k)), std::vector(sorted.begin(), sorted.begin() + static_cast<long>(kept)));
      }
    }
  }
}

// Token 1 was generated three times and token 2 once: 5 - (0.5 + 3 * 0.25) and 4 - (0.5 + 0.25).
TEST(Sampler, subtracts_penalties_for_what_was_generated_and_how_often) {
  std::vector<float> logits = {6, 5, 4};
  apply_count_penalties(logits, {{1, 3}, {2, 1}, {9, 1}}, 0.5f, 0.25f);
  EXPECT_THAT(logits, ElementsAre(6, 3.75f, 3.25f));
}

TEST(Sampler, adds_biases_to_logits) {
  std::vector<float> logits = {6, 5, 4};
  apply_bias(logits, std::vector<std::pair<int32_t, float>>{{0, -100}, {2, 2.5f}, {7, 1}});
  EXPECT_THAT(logits, ElementsAre(-94, 5, 6.5f));
}

TEST(Sampler, leaves_a_token_that_it_chose_often_enough) {
  SamplerOptions options;
  options.frequency_penalty = 0.6f;
  Sampler sampler(options);
  sampler.accept(0);  // of the prompt, which does not count
  const std::vector<float> logits = {3, 2, 0};
  std::vector<int32_t> chosen;
  for (int i = 0; i < 5; ++i) chosen.push_back(*sampler.sample(logits));
  EXPECT_THAT(chosen, ElementsAre(0, 0, 1, 0, 1)) << "3, 2.4, 1.8 < 2, 1.8 > 1.4, 1.2 < 1.4";
}

TEST(Sampler, follows_biases_also_where_it_is_greedy) {
  SamplerOptions options;
  options.logit_bias = {{0, -100}};
  EXPECT_EQ(Sampler(options).sample(std::vector<float>{3, 2, 0}), 1);
}

TEST(Sampler, draws_nothing_where_a_logit_is_not_finite) {
  const float none = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  for (const float temperature : {0.0f, 1.0f}) {
    for (const float penalty : {1.0f, 1.1f}) {
      SamplerOptions options;
      options.temperature = temperature;
      options.repeat_penalty = penalty;
      Sampler sampler(options);
      std::vector<float> logits(130, 1.0f);
      EXPECT_TRUE(sampler.sample(logits));
      for (const size_t at : {0u, 64u, 129u}) {
        for (const float bad : {none, infinite, -infinite}) {
          std::vector<float> spoilt = logits;
          spoilt[at] = bad;
          EXPECT_EQ(sampler.sample(spoilt), std::nullopt) << bad << " at " << at;
        }
      }
    }
  }
}

TEST(GreedyChoice, passes_over_what_is_no_number) {
  const float none = std::numeric_limits<float>::quiet_NaN(), least = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(greedy_choice(std::vector<float>{none, 1, 3, none}), 2);
  EXPECT_EQ(greedy_choice(std::vector<float>{none, none}), 0);
  EXPECT_EQ(greedy_choice(std::vector<float>{none, least, least}), 1);
}

TEST(RepeatPenalty, divides_positive_and_multiplies_negative_logits_once_per_token) {
  float logits[] = {2, -2, 4, 8};
  const int32_t recent[] = {0, 0, 1, 99};
  apply_repeat_penalty(logits, recent, 2);
  EXPECT_THAT(logits, ::testing::ElementsAre(1, -4, 4, 8));
}

TEST(TopK, keeps_the_largest_in_falling_order) {
  const float logits[] = {1, 4, 2, 4, 3};
  EXPECT_EQ(ids(keep_top_k(logits, 3)), (std::vector<int32_t>{1, 3, 4}));
  EXPECT_EQ(keep_top_k(logits, 0).size(), 5u);
  EXPECT_EQ(keep_top_k(logits, 99).size(), 5u);
}

TEST(Probabilities, are_the_softmax_at_the_temperature) {
  std::vector<Candidate> c{{0, std::log(9.0f), 0}, {1, 0, 0}};
  to_probabilities(c, 1);
  EXPECT_NEAR(c[0].probability, 0.9, 1e-6);
  to_probabilities(c, 2);  // e^(ln 9 / 2) = 3
  EXPECT_NEAR(c[0].probability, 0.75, 1e-6);
}

TEST(TopP, keeps_the_smallest_prefix_that_holds_the_mass) {
  auto c = with_probabilities({0.5f, 0.25f, 0.125f, 0.125f});
  keep_top_p(c, 0.75f);
  EXPECT_EQ(c.size(), 2u);
  keep_top_p(c, 0.01f);
  EXPECT_EQ(c.size(), 1u) << "at least one";
}

TEST(MinP, keeps_those_with_their_share_of_the_best) {
  auto c = with_probabilities({0.5f, 0.25f, 0.125f, 0.0625f});
  keep_min_p(c, 0.25f);
  EXPECT_EQ(c.size(), 3u);
}

TEST(Draw, walks_the_cumulated_mass) {
  const auto c = with_probabilities({0.5f, 0.25f, 0.25f});
  EXPECT_EQ(draw(c, 0.0), 0);
  EXPECT_EQ(draw(c, 0.49), 0);
  EXPECT_EQ(draw(c, 0.5), 1);
  EXPECT_EQ(draw(c, 0.75), 2);
  EXPECT_EQ(draw(c, 0.999999), 2);
}

TEST(Sampler, repeats_itself_with_the_same_seed_and_not_with_another) {
  std::vector<float> logits(100);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = 0.01f * static_cast<float>(i % 7);
  const auto run = [&](uint64_t seed) {
    Sampler sampler({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed});
    std::vector<int32_t> out;
    for (int i = 0; i < 20; ++i) out.push_back(sampler.sample(logits).value());
    return out;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(Sampler, draws_tokens_as_often_as_their_probability_says) {
  const float logits[] = {std::log(0.7f), std::log(0.2f), std::log(0.1f)};
  Sampler sampler({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 1});
  int counts[3] = {};
  for (int i = 0; i < 10000; ++i) ++counts[sampler.sample(logits).value()];
  // The standard deviation is at most sqrt(10000 * 0.7 * 0.3) = 46. The test allows five of them.
  EXPECT_NEAR(counts[0], 7000, 230);
  EXPECT_NEAR(counts[1], 2000, 230);
}

// The ids that 400 draws of a sampler produce, each id once.
std::set<int32_t> drawn(const SamplerOptions& options, std::span<const float> logits) {
  Sampler sampler(options);
  std::set<int32_t> ids;
  for (int i = 0; i < 400; ++i) ids.insert(sampler.sample(logits).value());
  return ids;
}

const float kLogits[] = {std::log(0.6f), std::log(0.3f), std::log(0.1f)};

// With k = 3 all tokens are sorted; with k = 0 other code finds those that are needed.
TEST(Sampler, draws_nothing_that_a_limit_leaves_out) {
  for (const int k : {0, 3}) {
    const SamplerOptions all{.temperature = 1, .top_k = k, .top_p = 1, .min_p = 0, .seed = 3};
    EXPECT_THAT(drawn(all, kLogits), ElementsAre(0, 1, 2)) << "0.9^400 = 5e-19 that one is missing";
    SamplerOptions limited = all;
    limited.top_k = 2;
    EXPECT_THAT(drawn(limited, kLogits), ElementsAre(0, 1));
    limited = all;
    limited.top_p = 0.5f;
    EXPECT_THAT(drawn(limited, kLogits), ElementsAre(0));
    limited = all;
    limited.min_p = 0.4f;
    EXPECT_THAT(drawn(limited, kLogits), ElementsAre(0, 1)) << "0.3 is half of 0.6, 0.1 a sixth";
  }
}

// At temperature 1/4 the probabilities are in proportion to 0.6^4, 0.3^4 and 0.1^4: 0.941, 0.059 and 0.0007. At
// temperature 4 they are in proportion to the fourth roots: 0.40, 0.34 and 0.26.
TEST(Sampler, cuts_off_by_probabilities_at_the_temperature) {
  for (const int k : {0, 3}) {
    SamplerOptions options{.temperature = 0.25f, .top_k = k, .top_p = 0.85f, .min_p = 0, .seed = 3};
    EXPECT_THAT(drawn(options, kLogits), ElementsAre(0)) << "0.6 alone would not be 0.85";
    options.temperature = 4;
    EXPECT_THAT(drawn(options, kLogits), ElementsAre(0, 1, 2)) << "nor are 0.74";
    options.top_p = 1;
    options.min_p = 0.5f;
    EXPECT_THAT(drawn(options, kLogits), ElementsAre(0, 1, 2)) << "all have more than half of the best";
  }
}

// The masked tokens have the largest logits. 64 of the bits fill a word.
TEST(Sampler, draws_only_tokens_that_are_allowed) {
  std::vector<float> logits(130);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 7);
  logits[3] = logits[64] = logits[129] = 50;
  const std::vector<uint64_t> allowed = {uint64_t{1} << 5 | uint64_t{1} << 63, 0, 1};  // 5, 63, 128
  std::set<int32_t> seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SamplerOptions options;
    options.seed = seed;
    options.temperature = seed % 3 == 0 ? 0.0f : 2.0f;
    options.top_k = seed % 2 ? 2 : 0;
    options.top_p = options.min_p = 0;
    if (seed % 3 == 1) options.top_p = 1;
    options.repeat_penalty = seed % 5 ? 1.0f : 1.2f;
    Sampler sampler(options);
    for (int i = 0; i < 4; ++i) seen.insert(*sampler.sample(logits, allowed));
  }
  EXPECT_EQ(seen, (std::set<int32_t>{5, 63, 128}));
  logits[70] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(Sampler(SamplerOptions{}).sample(logits, allowed)) << "a pass that computed no numbers is an error";
}

TEST(Sampler, remembers_no_more_than_the_last_tokens) {
  const float logits[] = {1.0f, 0.9f, 0.8f};
  Sampler sampler({.temperature = 0, .repeat_penalty = 2, .repeat_last = 2});
  std::vector<int32_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(sampler.sample(logits).value());
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 0, 1, 2)) << "of three each is free again when its turn comes";
}

TEST(Draw, takes_what_is_left_for_all) {
  const auto c = with_probabilities({0.25f, 0.25f});  // the other tokens were cut off
  EXPECT_EQ(draw(c, 0.49), 0);
  EXPECT_EQ(draw(c, 0.5), 1);
  EXPECT_EQ(draw(c, 0.999999), 1);
}

TEST(Sampler, avoids_repeating_itself_when_asked_to) {
  const float logits[] = {1.0f, 0.9f};
  Sampler sampler({.temperature = 0, .repeat_penalty = 2});
  EXPECT_EQ(sampler.sample(logits), 0);
  EXPECT_EQ(sampler.sample(logits), 1) << "0 was halved to 0.5";
}

}  // namespace
}  // namespace tandem
