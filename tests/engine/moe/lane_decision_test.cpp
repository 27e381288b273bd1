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

LaneDecision decide(const char* schedule, const LaneSizes& sizes) {
  return decide_lanes(kLoads, kSlotOf, kCosts, find_schedule_rule(schedule), sizes);
}

TEST(LaneDecisions, follow_the_schedule) {
  const LaneDecision greedy = decide("greedy", {8, 2, 2});
  EXPECT_EQ(greedy.seconds, 4);
  EXPECT_THAT(greedy.place, ElementsAre(slot, slot, landed, host, host));
  EXPECT_EQ(greedy.at[0], 7);
  EXPECT_THAT(greedy.moved[0], ElementsAre(2));
  EXPECT_THAT(decide("fixed", {8, 2, 2}).place, ElementsAre(slot, slot, host, host, slot));
  EXPECT_THAT(decide("gpu-only", {8, 2, 2}).place, ElementsAre(slot, slot, landed, landed, slot));
}

TEST(LaneDecisions, take_the_schedule_of_least_time_if_none_is_named) {
  const LaneDecision best = decide_lanes(kLoads, kSlotOf, kCosts, nullptr, {8, 2, 2});
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

TEST(LaneDecisions, say_nothing_about_experts_that_nobody_chose) {
  const LaneDecision some =
      decide_lanes(std::vector<int64_t>{0, 2, 0}, std::vector<int32_t>{0, -1, -1}, kCosts, nullptr, {1, 1, 1});
  EXPECT_EQ(some.place[0], none);
  EXPECT_EQ(some.place[2], none);
  EXPECT_NE(some.place[1], none);
  const LaneDecision nobody =
      decide_lanes(std::vector<int64_t>{0, 0}, std::vector<int32_t>{0, -1}, kCosts, nullptr, {1, 1, 1});
  EXPECT_THAT(nobody.place, ElementsAre(none, none));
  EXPECT_EQ(nobody.seconds, 0);
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
