// Statistics of recorded routing and modelled speeds of cards, on numbers worked out by hand.
#include "engine/moe/card_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/moe/trace_statistics.h"
#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;

// Tokens 0 1, 0 2, 3 0, 1 2: 0 again after 1 and 1 tokens, 1 after 3, 2 after 2.
LayerRequests four_tokens() { return {4, 2, {0, 0, 0, 0}, {0, 1, 0, 2, 3, 0, 1, 2}, {}, {}}; }

TEST(TraceStatistics, say_how_soon_an_expert_is_used_again) {
  const std::vector<LayerRequests> layers = {four_tokens()};
  const ReuseDistances distances = reuse_distances(layers);
  EXPECT_THAT(distances.again, ElementsAre(2, 2)) << "1, 1; 2 and 3";
  EXPECT_EQ(distances.never, 4);
  EXPECT_EQ(distances.requests, 8);
}

TEST(TraceStatistics, count_different_experts_in_windows) {
  const std::vector<LayerRequests> layers = {four_tokens()};
  EXPECT_EQ(experts_in_window(layers, 1), 2);
  EXPECT_EQ(experts_in_window(layers, 2), 3.5) << "0 1 2, and 3 0 1 2";
  EXPECT_EQ(experts_in_window(layers, 4), 4);
  EXPECT_EQ(experts_in_window(layers, 8), 0);
  EXPECT_THAT(uses_of(layers[0]), ElementsAre(3, 2, 2, 1));
}

// 2 layers, 1 of 4 experts of 10 bytes; 30 bytes besides. At 100 bytes/s and a link of 10: (30 + 20) / 100 = 0.5 s with
// all hits, and 20 / 10 = 2 s more with none.
TEST(CardSpeed, is_that_of_reading_and_of_copying_misses) {
  const ExpertBytes model{2, 4, 1, 10, 30, 40};
  const Card card{"c", 1000, 100, 10};
  EXPECT_DOUBLE_EQ(tokens_per_second(model, card, 1), 2);
  EXPECT_DOUBLE_EQ(tokens_per_second(model, card, 0), 0.4);
  EXPECT_DOUBLE_EQ(model.held(0.5), 80);
}

TEST(CardSpeed, has_its_knee_where_a_gigabyte_brings_less_than_a_twentieth) {
  const std::vector<SpeedPoint> points = {{1e9, 10}, {2e9, 12}, {4e9, 13}, {8e9, 30}};
  EXPECT_EQ(knee_of(points), 1u) << "12 to 13 in 2 GB is 4 % for each";
  EXPECT_EQ(knee_of(std::span(points).first(2)), std::nullopt);
}

TEST(CardSpeed, of_a_card_is_read_from_its_description) {
  const Card card = parse_card("name=small,gbps=960,memory=16,link=63.5");
  EXPECT_EQ(card.name, "small");
  EXPECT_EQ(card.memory_bytes, 16e9);
  EXPECT_EQ(card.link_bytes_per_second, 63.5e9);
  for (const char* bad :
       {"", "gbps=1", "gbps=1,memory=1", "gbps=0,memory=1,link=1", "gbps=-1,memory=1,link=1", "gbps=x,memory=1,link=1",
        "gbps=1,memory=1,link=1,cores=2", "gbps=1,gbps=1,memory=1,link=1", "gbps=nan,memory=1,link=1"})
    EXPECT_THROW(parse_card(bad), Error) << bad;
}

}  // namespace
}  // namespace tandem
