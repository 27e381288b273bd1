// N4 beside another processor, and N9, on numbers worked out by hand.
#include "engine/moe/expert_placement.h"

#include <gtest/gtest.h>

#include "sync/error.h"

namespace tandem {
namespace {

ResidencyCosts costs_of(double launch, double of_slot, double of_token) {
  ResidencyCosts costs;
  costs.launch_seconds = launch;
  costs.npu_seconds = [=](int64_t slots, int64_t) { return of_slot * static_cast<double>(slots); };
  costs.other_seconds = [=](double tokens, int64_t) { return of_token * tokens; };
  return costs;
}

TEST(BalancedGroups, become_resident_as_long_as_the_later_processor_ends_sooner) {
  const std::vector<ExpertGroup> groups{{64, {0}}, {32, {1}}, {16, {2}}};
  const std::vector<double> loads{60, 30, 10};
  // The experts take 65, 33 and 17 s on the NPU, and 60, 30 and 10 s elsewhere, together 100. For each second on the
  // NPU the first expert takes 60/65 s from the other processor, the second 30/33, the third 10/17. With the first
  // expert the processors end after 65 and 40 s. With the second too they end after 98 and 10, which is later. With the
  // third instead they end after 82 and 30, also later.
  EXPECT_EQ(balanced_groups(groups, loads, costs_of(1, 1, 1), 16), (std::vector<bool>{true, false, false}));
  // An NPU four times as fast takes 17, 9 and 5 s. With the first expert the ends are 17 and 40, with the first two 26
  // and 10. The third would make them 31 and 0.
  EXPECT_EQ(balanced_groups(groups, loads, costs_of(1, 0.25, 1), 16), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(balanced_groups(groups, loads, costs_of(1, 0.25, 1), 1), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(balanced_groups(groups, loads, costs_of(200, 0.25, 1), 16), (std::vector<bool>{false, false, false}));
}

TEST(BalancedGroups, leave_the_overflow_with_the_other_processor) {
  // 16 rows serve 100 tokens, and 84 stay on the other processor. Without the group it takes 100 s; with the group 20 +
  // 16 s run beside 84.
  const std::vector<ExpertGroup> groups{{16, {0}}};
  EXPECT_EQ(balanced_groups(groups, std::vector<double>{100}, costs_of(20, 1, 1), 16), (std::vector<bool>{true}));
  // Another group has 16 tokens. The ends are 36 beside 100, then 72 beside 84, which is even sooner.
  EXPECT_EQ(balanced_groups(std::vector<ExpertGroup>{{16, {0}}, {16, {1}}}, std::vector<double>{100, 16},
                            costs_of(20, 1, 1), 16),
            (std::vector<bool>{true, true}));
  // A launch of 84 s leaves no gain: 100 beside 84.
  EXPECT_EQ(balanced_groups(groups, std::vector<double>{100}, costs_of(84, 1, 1), 16), (std::vector<bool>{false}));
}

TEST(ExpectedLoads, are_even_as_long_as_nothing_was_counted) {
  EXPECT_EQ(expected_loads(std::vector<int64_t>{0, 0, 0, 0}, 2, 64), (std::vector<double>{32, 32, 32, 32}));
  EXPECT_EQ(expected_loads(std::vector<int64_t>{10, 6, 4, 0}, 2, 64), (std::vector<double>{64, 38.4, 25.6, 0}));
}

TEST(ExpertPlacement, gives_rows_to_resident_experts_alone) {
  // kB/E = 32, so the tiers are 64, 32 and 16. Expert 1 is the popular quarter.
  const std::vector<double> loads{30, 80, 10, 8};
  ExpertRules rules;
  rules.residency = ResidencyRule::all;
  const ExpertPlacement all = place_experts(loads, 2, 64, 1, rules, {});
  EXPECT_EQ(all.capacities, (std::vector<int64_t>{32, 64, 16, 16}));
  EXPECT_EQ(all.resident, (std::vector<ExpertGroup>{{64, {1}}, {32, {0}}, {16, {2, 3}}}));
  EXPECT_EQ(all.slots(), 128);
  EXPECT_DOUBLE_EQ(all.expected_elsewhere, 16.0 / 128);  // 64 of the 80 tokens have a row
  rules.residency = ResidencyRule::faster;
  // 8 + 64 < 80, 8 + 32 > 30, 8 + 32 > 18.
  const ExpertPlacement hot = place_experts(loads, 2, 64, 1, rules, costs_of(8, 1, 1));
  EXPECT_EQ(hot.capacities, (std::vector<int64_t>{0, 64, 0, 0}));
  EXPECT_EQ(hot.elsewhere, (std::vector<ExpertGroup>{{32, {0}}, {16, {2, 3}}}));
  EXPECT_DOUBLE_EQ(hot.expected_elsewhere, 0.5);
}

TEST(ExpertPlacement, of_experts_too_large_for_a_graph_is_elsewhere) {
  ExpertRules rules;
  rules.groups.largest_graph_bytes = 10;
  const ExpertPlacement none = place_experts(std::vector<double>{4, 4}, 1, 8, 11, rules, costs_of(0, 0, 1));
  EXPECT_TRUE(none.resident.empty());
  EXPECT_DOUBLE_EQ(none.expected_elsewhere, 1);
}

TEST(ExpertRules, that_make_no_sense_are_refused) {
  ExpertRules rules;
  check_rules(rules, 4);  // the default is valid
  rules.groups.largest_group = 5;
  EXPECT_THROW(check_rules(rules, 4), Error);
  check_rules(rules, 5);
  rules.tiers.multiples = {2, 1, 0};
  EXPECT_THROW(check_rules(rules, 5), Error);
  rules.tiers.multiples = {1, 2, 0.5};
  EXPECT_THROW(check_rules(rules, 5), Error);
}

// N9: each variant differs from the next one in one rule.
TEST(Baselines, take_one_rule_after_another_away) {
  const std::vector<double> loads{30, 80, 10, 8};
  const ResidencyCosts costs = costs_of(8, 1, 1);
  const auto with = [&](const ExpertRules& rules) { return place_experts(loads, 2, 60, 1, rules, costs); };
  const ExpertPlacement naive = with(naive_rules({})), base = with(base_rules({})), tiers = with(tier_rules({})),
                        groups = with(tier_group_rules({}));
  EXPECT_EQ(naive.capacities, (std::vector<int64_t>{64, 64, 64, 64}));  // 60 tokens in steps of 16
  EXPECT_EQ(naive.resident.size(), 4u);
  EXPECT_EQ(base.capacities, (std::vector<int64_t>{64, 64, 64, 64}));  // twice the mean load of 30, in steps of 16
  EXPECT_EQ(tiers.capacities, (std::vector<int64_t>{32, 64, 16, 16}));
  EXPECT_EQ(tiers.resident.size(), 4u);
  EXPECT_EQ(groups.resident.size(), 3u);
  for (const ExpertRules& rules : {naive_rules({}), base_rules({}), tier_rules({}), tier_group_rules({})})
    EXPECT_LE(with(rules).slots(), most_slots(4, 2, 60, rules));
}

}  // namespace
}  // namespace tandem
