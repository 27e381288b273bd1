// Requests of `tandem bench --mixed`.
#include "engine/app/commands/bench/mixed_traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tandem::app {
namespace {

TEST(MixedTraffic, has_lengths_up_to_the_limits_and_rising_arrivals) {
  const auto requests = mixed_requests({2000, 8, 10, 4, 1});
  ASSERT_EQ(requests.size(), 2000U);
  std::set<int64_t> prompts, written;
  for (const MixedRequest& request : requests) prompts.insert(request.prompt), written.insert(request.written);
  EXPECT_EQ(prompts.size(), 10U);
  EXPECT_EQ(*prompts.begin(), 1);
  EXPECT_EQ(*prompts.rbegin(), 10);
  EXPECT_EQ(written, (std::set<int64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(std::ranges::is_sorted(requests, {}, &MixedRequest::arrives));
}

// 8 texts that write 64.5 tokens on average: a request every 64.5 / (0.9 * 8) = 9.0 passes.
TEST(MixedTraffic, keeps_nine_tenths_of_the_width_busy) {
  const auto requests = mixed_requests({4000, 8, 100, 128, 7});
  EXPECT_NEAR(static_cast<double>(requests.back().arrives) / 4000, 8.96, 0.5);
}

// 64 texts that write 4.5 tokens on average: 12.8 requests a pass.
TEST(MixedTraffic, lets_several_requests_arrive_in_a_pass) {
  const auto requests = mixed_requests({4000, 64, 10, 8, 7});
  EXPECT_NEAR(4000 / static_cast<double>(requests.back().arrives + 1), 12.8, 1.5);
}

TEST(MixedTraffic, follows_from_the_seed_alone) {
  const auto of = [](uint64_t seed) {
    std::vector<int64_t> numbers;
    for (const MixedRequest& r : mixed_requests({50, 4, 100, 100, seed}))
      numbers.insert(numbers.end(), {r.arrives, r.prompt, r.written});
    return numbers;
  };
  EXPECT_EQ(of(3), of(3));
  EXPECT_NE(of(3), of(4));
}

}  // namespace
}  // namespace tandem::app
