#include "engine/moe/routing_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sync/error.h"

namespace tandem {
namespace {

TEST(DrawnRouting, sends_each_token_to_k_different_experts) {
  const std::vector<RoutingCounts> chunks = drawn_chunks({2.0, 0.2, 7}, 6, 3, 2, 20, 4);
  ASSERT_EQ(chunks.size(), 4u);
  for (const RoutingCounts& chunk : chunks) {
    EXPECT_EQ(chunk.tokens, 20);
    ASSERT_EQ(chunk.counts.size(), 2u);
    for (const ExpertCounts& counts : chunk.counts) {
      EXPECT_EQ(std::reduce(counts.begin(), counts.end()), 60);
      EXPECT_LE(std::ranges::max(counts), 20) << "no token takes an expert twice";
    }
  }
}

TEST(DrawnRouting, is_the_same_on_every_machine) {
  const std::vector<RoutingCounts> chunks = drawn_chunks({}, 4, 1, 1, 64, 2);
  EXPECT_EQ(drawn_chunks({}, 4, 1, 1, 64, 2), chunks);
  EXPECT_NE(drawn_chunks({0.9, 0.15, 2}, 4, 1, 1, 64, 2), chunks);
  EXPECT_EQ(chunks[0].counts[0], (ExpertCounts{19, 11, 20, 14}));
  EXPECT_EQ(chunks[1].counts[0], (ExpertCounts{18, 16, 20, 10}));
}

TEST(DrawnRouting, is_less_even_the_larger_its_sigma) {
  const auto r = [](double sigma) { return imbalance(drawn_chunks({sigma, 0, 1}, 16, 2, 1, 4096, 1)[0].counts[0]); };
  EXPECT_LT(r(0), 1.15);
  EXPECT_GT(r(0.9), 1.5);
  EXPECT_GT(r(2), r(0.9));
}

// Chunks without noise of their own have equal popularities. With much noise they differ.
TEST(DrawnRouting, foretells_other_chunks_the_worse_the_more_they_differ) {
  const auto foretold = [](double chunk_sigma) {
    const std::vector<RoutingCounts> chunks = drawn_chunks({0.9, chunk_sigma, 1}, 16, 2, 8, 512, 4);
    return overlap_on(chunks[0], std::span(chunks).subspan(1), 4);
  };
  EXPECT_GT(foretold(0), 0.85);
  EXPECT_LT(foretold(2), 0.6);
}

TEST(RoomUse, counts_what_rooms_make_of_chunks_that_they_were_not_planned_on) {
  // The plan expects 6 and 2 of 8 tokens: the mean is 4, and the rooms are 6 and 3. Then 7 and 1 arrive.
  RoutingCounts planned{2, 1, 8, {0}, {{6, 2}}};
  RoutingCounts unseen{2, 1, 8, {0}, {{7, 1}}};
  ExpertRules rules;
  rules.tiers = {{1.5, 0.75, 0.75}, TierRule::quartile, 0.25, 1};
  const RoomUse use = room_use(planned, {unseen}, 1, rules);
  EXPECT_DOUBLE_EQ(use.dropped, 1.0 / 8);
  EXPECT_DOUBLE_EQ(use.padded, 2.0 / 9);
  EXPECT_DOUBLE_EQ(use.slots_per_choice, 9.0 / 8);
  EXPECT_THROW(room_use(planned, {}, 1, rules), Error);
}

}  // namespace
}  // namespace tandem
