// N3, N4 and N8 on numbers worked out by hand.
#include "engine/moe/expert_groups.h"

#include <gtest/gtest.h>

#include "engine/moe/residency.h"

namespace tandem {
namespace {

TEST(ExpertGroups, are_runs_of_one_tier_by_popularity) {
  const std::vector<int64_t> capacities{32, 64, 32, 0, 32, 64}, popularity{5, 4, 1, 0, 3, 2};
  GroupOptions pairs;
  pairs.largest_group = 2;
  EXPECT_EQ(expert_groups(capacities, popularity, 1, pairs),
            (std::vector<ExpertGroup>{{64, {5, 1}}, {32, {4, 0}}, {32, {2}}}));
}

TEST(ExpertGroups, stay_below_the_largest_graph) {
  const std::vector<int64_t> capacities(16, 32), popularity{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  GroupOptions options;
  options.largest_group = 16;
  // N8: eight experts of 150 MiB are exactly 1200 MiB, which the limit allows.
  const auto groups = expert_groups(capacities, popularity, int64_t{150} << 20, options);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].experts.size(), 8u);
  EXPECT_TRUE(expert_groups(capacities, popularity, int64_t{1201} << 20, options).empty());
}

TEST(SlotUse, tells_padding_and_overflow_apart) {
  // The paper's example has the loads 64, 32, 32 and 0 in slices of 64. 128 of 256 rows hold a token.
  const std::vector<ExpertGroup> groups{{64, {0, 1, 2, 3}}};
  const SlotUse half = slot_use(groups, std::vector<int64_t>{64, 32, 32, 0});
  EXPECT_EQ(half.slots, 256);
  EXPECT_EQ(half.valid, 128);
  EXPECT_EQ(half.overflow, 0);
  EXPECT_DOUBLE_EQ(half.padded_share(), 0.5);
  // 16 tokens exceed the first slice, and 5 belong to an expert without a slice.
  EXPECT_EQ(slot_use(groups, std::vector<int64_t>{80, 1, 1, 1, 5}).overflow, 21);
  EXPECT_DOUBLE_EQ(slot_use({}, std::vector<int64_t>{3}).padded_share(), 0.0);
}

TEST(Residency, is_for_groups_that_repay_their_launch) {
  const std::vector<ExpertGroup> groups{{64, {0, 1}}, {16, {2, 3}}, {32, {4}}};
  const std::vector<double> loads{60, 60, 1, 1, 30};
  ResidencyCosts costs;
  costs.launch_seconds = 20;
  costs.npu_seconds = [](int64_t slots, int64_t) { return 0.25 * static_cast<double>(slots); };
  costs.other_seconds = [](double tokens, int64_t) { return tokens; };
  // 20 + 32 < 120, 20 + 8 > 2, 20 + 8 < 30.
  EXPECT_EQ(resident_groups(groups, loads, costs, 16), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(resident_groups(groups, loads, costs, 1), (std::vector<bool>{true, false, false}));
  costs.launch_seconds = 22;  // 22 + 8 = 30: no gain
  EXPECT_EQ(resident_groups(groups, loads, costs, 16), (std::vector<bool>{true, false, false}));
}

}  // namespace
}  // namespace tandem
