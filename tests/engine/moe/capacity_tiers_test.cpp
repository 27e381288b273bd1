// N2 on numbers worked out by hand.
#include "engine/moe/capacity_tiers.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tandem {
namespace {

// With 16 experts, two for each token, and chunks of 256 the mean load is 2 * 256 / 16 = 32. The tiers are 64, 32
// and 16.
constexpr int64_t kExperts = 16, kUsed = 2, kChunk = 256;

TEST(CapacityTiers, are_multiples_of_the_mean_load) {
  EXPECT_EQ(tier_capacities(kExperts, kUsed, kChunk, {}), (std::array<int64_t, 3>{64, 32, 16}));
}

TEST(CapacityTiers, are_rounded_up_to_the_step_and_end_at_the_chunk) {
  // With 5 experts, one for each token, and chunks of 24, the tiers 9.6, 4.8 and 2.4 become 16. Four times the mean is
  // 19.2, which becomes 32.
  EXPECT_EQ(tier_capacities(5, 1, 24, {}), (std::array<int64_t, 3>{16, 16, 16}));
  TierOptions wide;
  wide.multiples = {4, 2, 1};
  EXPECT_EQ(tier_capacities(5, 1, 24, wide), (std::array<int64_t, 3>{32, 16, 16}));
  wide.multiples = {100, 2, 1};
  EXPECT_EQ(tier_capacities(5, 1, 24, wide)[0], 32);  // the whole chunk
}

TEST(CapacityTiers, give_the_popular_quarter_the_largest) {
  std::vector<double> loads(16, 30.0);  // the last four experts are the busiest
  for (size_t e = 12; e < 16; ++e) loads[e] = 38.0;
  loads[3] = 10;  // at most half of the mean
  const auto capacities = expert_capacities(loads, kUsed, kChunk, {});
  EXPECT_EQ(capacities, (std::vector<int64_t>{32, 32, 32, 16, 32, 32, 32, 32, 32, 32, 32, 32, 64, 64, 64, 64}));
  // 4 * 64 + 11 * 32 + 16 rows serve 512 choices.
  EXPECT_EQ(std::reduce(capacities.begin(), capacities.end()), 624);
}

TEST(CapacityTiers, can_be_the_smallest_that_covers) {
  TierOptions covering;
  covering.rule = TierRule::covering;
  EXPECT_EQ(expert_capacities(std::vector<double>{16, 16.5, 32, 33, 64, 65, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1}, kUsed,
                              kChunk, covering),
            (std::vector<int64_t>{16, 32, 32, 64, 64, 64, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16}));
}

}  // namespace
}  // namespace tandem
