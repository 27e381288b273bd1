// Which lane computes which expert of a layer, and what the tables of a decision say.
#include "engine/moe/lane_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensor/routing.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using enum ExpertPlace;

// The example of the paper's figure: experts A to E with these loads; A, B and E have slots.
const std::vector<int64_t> kLoads{4, 3, 5, 1, 2};
const std::vector<int32_t> kSlotOf{7, 0, -1, -1, 3};
const ExpertCosts kCosts{.cpu_per_token = 1, .gpu_fixed = 1, .transfer = 3};

struct Decided : LaneDecision {
  double seconds = 0;
};

Decided decide(std::span<const int64_t> loads, std::span<const int32_t> slot_of, const ScheduleRule* rule,
               const LaneSizes& sizes) {
  ActiveExperts active;
  find_active(loads, slot_of, active);
  const LaneDivision division = divide(active, kCosts, rule, sizes.turns > 0);
  Decided decided;
  decide_lanes(active, division, slot_of, sizes, decided);
  decided.seconds = division.seconds;
  return decided;
}
Decided decide(const char* schedule, const LaneSizes& sizes) {
  return decide(kLoads, kSlotOf, find_schedule_rule(schedule), sizes);
}

TEST(LaneDecisions, follow_the_schedule) {
  const Decided greedy = decide("greedy", {8, 2, 2});
  EXPECT_EQ(greedy.seconds, 4);
  EXPECT_THAT(greedy.place, ElementsAre(slot, slot, landed, host, host));
  EXPECT_EQ(greedy.at[0], 7);
  EXPECT_THAT(greedy.moved[0], ElementsAre(2));
  EXPECT_THAT(decide("fixed", {8, 2, 2}).place, ElementsAre(slot, slot, host, host, slot));
  EXPECT_THAT(decide("gpu-only", {8, 2, 2}).place, ElementsAre(slot, slot, landed, landed, slot));
}

TEST(LaneDecisions, take_the_schedule_of_least_time_if_none_is_named) {
  const Decided best = decide(kLoads, kSlotOf, nullptr, {8, 2, 2});
  EXPECT_EQ(best.seconds,
            best_schedule(LayerExperts(kLoads, std::vector<int32_t>{0, 1, 4}, kCosts)).schedule.makespan());
}

TEST(LaneDecisions, spread_copies_over_turns) {
  const LaneDecision two = decide("gpu-only", {8, 2, 2});
  EXPECT_THAT(two.moved[0], ElementsAre(2));
  EXPECT_THAT(two.moved[1], ElementsAre(3));
  const LaneDecision one = decide("gpu-only", {8, 2, 1});
  EXPECT_THAT(one.moved[0], ElementsAre(2, 3));
  EXPECT_EQ(one.at[3], 1);
}

TEST(LaneDecisions, leave_to_the_host_what_no_place_is_left_for) {
  EXPECT_THAT(decide("gpu-only", {8, 1, 1}).place, ElementsAre(slot, slot, landed, host, slot));
  EXPECT_THAT(decide("gpu-only", {8, 1, 0}).place, ElementsAre(slot, slot, host, host, slot));
}

// C lies on the landing of copies ahead, so it counts as cached.
TEST(LaneDecisions, compute_what_was_copied_ahead_in_a_turn_of_its_own) {
  const std::vector<int32_t> cached{7, 0, 1, -1, 3}, ahead{-1, -1, 1, -1, -1};
  ActiveExperts active;
  find_active(kLoads, cached, active);
  const LaneSizes sizes{8, 2, 3, 0, true};
  LaneDecision decided;
  decide_lanes(active, divide(active, kCosts, find_schedule_rule("gpu-only"), true), kSlotOf, sizes, decided, ahead);
  EXPECT_THAT(decided.place, ElementsAre(slot, slot, landed, landed, slot));
  EXPECT_EQ(decided.turn[2], 2) << "the last turn";
  EXPECT_EQ(decided.at[2], 1);
  EXPECT_EQ(decided.turn[3], 0);
  EXPECT_THAT(decided.moved[0], ElementsAre(3));
  EXPECT_TRUE(decided.moved[1].empty() && decided.moved[2].empty());
}

TEST(LaneDecisions, say_nothing_about_experts_that_nobody_chose) {
  const Decided some = decide(std::vector<int64_t>{0, 2, 0}, std::vector<int32_t>{0, -1, -1}, nullptr, {1, 1, 1});
  EXPECT_EQ(some.place[0], none);
  EXPECT_EQ(some.place[2], none);
  EXPECT_NE(some.place[1], none);
  const Decided nobody = decide(std::vector<int64_t>{0, 0}, std::vector<int32_t>{0, -1}, nullptr, {1, 1, 1});
  EXPECT_THAT(nobody.place, ElementsAre(none, none));
  EXPECT_EQ(nobody.seconds, 0);
}

// Without turns the processor has C and D, 5 + 1 units, while the GPU has the three others.
TEST(LaneDecisions, copy_nothing_if_the_plan_has_no_turns) {
  const Decided alone = decide(kLoads, kSlotOf, nullptr, {8, 2, 0});
  EXPECT_THAT(alone.place, ElementsAre(slot, slot, host, host, slot));
  EXPECT_EQ(alone.seconds, 6);
}

TEST(LaneDecisions, of_a_layer_replace_all_of_the_layer_before) {
  ActiveExperts active;
  Decided decided = decide("gpu-only", {8, 2, 2});
  const std::vector<int64_t> loads{0, 0, 0, 2, 0};
  find_active(loads, kSlotOf, active);
  decide_lanes(active, divide(active, kCosts, find_schedule_rule("fixed"), true), kSlotOf, {8, 2, 2}, decided);
  EXPECT_THAT(decided.place, ElementsAre(none, none, none, host, none));
  EXPECT_TRUE(decided.moved[0].empty() && decided.moved[1].empty());
}

// Remembered divisions are those of the pure function, for every set of cached experts, and follow the costs.
TEST(LaneDivisions, of_single_tokens_are_remembered_until_costs_change) {
  LaneDivisions divisions(kCosts);
  const ExpertCosts slow_link{.cpu_per_token = 1, .gpu_fixed = 1, .transfer = 9},
      late_link{.cpu_per_token = 2, .gpu_fixed = 1, .transfer = 1, .link_offset = 4};
  for (const char* rule : {"", "fixed", "gpu-only"})
    for (const ExpertCosts& costs : {kCosts, slow_link, late_link}) {
      divisions.set_costs(costs);
      for (int again = 0; again < 2; ++again)
        for (uint32_t mask = 0; mask < 32; ++mask)
          for (const bool may_copy : {true, false}) {
            ActiveExperts active{{3, 5, 6, 7, 9}, {1, 1, 1, 1, 1}, {}};
            for (int32_t i = 0; i < 5; ++i)
              if (mask >> i & 1u) active.cached.push_back(i);
            const LaneDivision expected = divide(active, costs, find_schedule_rule(rule), may_copy);
            const LaneDivision& found = divisions.of(active, find_schedule_rule(rule), may_copy);
            ASSERT_EQ(found.place, expected.place) << rule << ", mask " << mask;
            ASSERT_EQ(found.moved, expected.moved);
            ASSERT_EQ(found.seconds, expected.seconds);
            if (!may_copy && rule[0] == 0) {
              ASSERT_TRUE(found.moved.empty());
            }
          }
    }
}

// A load of two is no single token: its division is another one.
TEST(LaneDivisions, of_other_loads_are_computed) {
  LaneDivisions divisions(kCosts);
  const ActiveExperts once{{0, 1}, {1, 1}, {}}, twice{{0, 1}, {9, 1}, {}};
  EXPECT_EQ(divisions.of(once, nullptr, true).seconds, 2);
  EXPECT_EQ(divisions.of(twice, nullptr, true).seconds, 4) << "the link brings the one with 9 tokens";
}

TEST(LaneDecisions, are_written_as_places_of_choices_and_as_copies) {
  const LaneDecision decision = decide("gpu-only", {8, 1, 1});
  const std::vector<int32_t> ids{2, 3, 0, 2};
  std::vector<int32_t> in_slots(4), on_host(4), row_of(4), landed_at(4), copies(4, 99), keepings(4, 99);
  LaneTables tables;
  tables.in_slots = in_slots, tables.on_host = on_host, tables.row_of = row_of;
  tables.landed[0] = landed_at, tables.copies[0] = copies, tables.keepings[0] = keepings;
  write_decision(decision, ids, 1, tables);
  EXPECT_THAT(in_slots, ElementsAre(kElsewhere, kElsewhere, 7, kElsewhere));
  EXPECT_THAT(landed_at, ElementsAre(0, kElsewhere, kElsewhere, 0));
  EXPECT_THAT(on_host, ElementsAre(kElsewhere, 3, kElsewhere, kElsewhere));
  EXPECT_THAT(row_of, ElementsAre(kElsewhere, 1, kElsewhere, kElsewhere));
  EXPECT_THAT(copies, ElementsAre(1, 2, 0, 2)) << "one copy: expert 2 to place 0";
  EXPECT_EQ(keepings[0], 0);
}

}  // namespace
}  // namespace tandem
