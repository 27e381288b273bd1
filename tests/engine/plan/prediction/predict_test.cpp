#include "engine/plan/prediction/predict.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "engine/plan/prediction/overlap.h"

namespace tandem {
namespace {

struct Busy {
  double start_seconds, end_seconds;
};

// The lane works from 0 to 2, from 3 to 4 and from 4 to 7.
TEST(OverlapSeconds, are_those_of_spans_within_the_interval) {
  const std::vector<Busy> lane = {{0, 2}, {3, 4}, {4, 7}};
  const auto within = [&](double start, double end) {
    return overlap_seconds(std::span<const Busy>(lane), start, end);
  };
  EXPECT_DOUBLE_EQ(within(1, 5), 1 + 1 + 1);
  EXPECT_DOUBLE_EQ(within(2, 3), 0) << "they touch it";
  EXPECT_DOUBLE_EQ(within(5, 6), 1) << "one lasts longer";
  EXPECT_DOUBLE_EQ(within(-1, 9), 6);
  EXPECT_DOUBLE_EQ(within(7, 9), 0);
  EXPECT_DOUBLE_EQ(overlap_seconds(std::span<const Busy>(), 0, 1), 0);
}

Operator tokens(int64_t S) { return {"op", Add{S, 1, {}, {}, 1, 1}}; }

// A token takes 1 s on device 0 and 2 s on device 1, and half as much again beside the other device.
PlanCosts costs() {
  PlanCosts costs;
  costs.seconds = [](int device, const Operator& op, bool both) {
    return static_cast<double>(tokens_of(op)) * (device == 0 ? 1 : 2) * (both ? 1.5 : 1);
  };
  costs.sync_seconds = 0.25;
  return costs;
}

TEST(Predict, adds_up_the_steps_of_one_device) {
  const Plan plan{"one", {"a"}, {{0, {tokens(3), tokens(1)}, {}, false}, {0, {tokens(2)}, {}, true}}};
  const Prediction predicted = predict(plan, costs());
  EXPECT_DOUBLE_EQ(predicted.seconds, 6);
  EXPECT_DOUBLE_EQ(predicted.steps[1].start_seconds, 4);
  EXPECT_EQ(predicted.steps[0].operator_seconds, (std::vector<double>{3, 1}));
  EXPECT_DOUBLE_EQ(predicted.busy_seconds[0], 6);
}

// a takes 4 s. b waits for it, pays 0.25 s and takes 2 s: 6.25. Nothing overlaps, so no step takes longer.
TEST(Predict, lets_a_step_wait_for_another_device_and_pays_for_the_waiting) {
  const Plan plan{"two", {"a", "b"}, {{0, {tokens(4)}, {}, true}, {1, {tokens(1)}, {0}, true}}};
  const Prediction predicted = predict(plan, costs());
  EXPECT_DOUBLE_EQ(predicted.steps[1].start_seconds, 4.25);
  EXPECT_DOUBLE_EQ(predicted.seconds, 6.25);
  EXPECT_DOUBLE_EQ(predicted.busy_seconds[1], 2);
}

// Alone a and b both take 0..4. Each runs beside the other all the time, so both take 1.5 times as long.
TEST(Predict, counts_what_runs_beside_another_device_as_such) {
  const Plan plan{"both", {"a", "b"}, {{0, {tokens(4)}, {}, true}, {1, {tokens(2)}, {}, true}}};
  EXPECT_DOUBLE_EQ(predict(plan, costs()).seconds, 6);
}

// Alone a takes 0..10 and b 0..4. b runs beside a all the time, so its 4 s become 6. a runs beside b for less than half
// of its own time.
TEST(Predict, leaves_a_long_step_alone_that_another_device_hardly_touches) {
  const Plan plan{"long", {"a", "b"}, {{0, {tokens(10)}, {}, true}, {1, {tokens(2)}, {}, true}}};
  const Prediction predicted = predict(plan, costs());
  EXPECT_DOUBLE_EQ(predicted.steps[0].end_seconds, 10);
  EXPECT_DOUBLE_EQ(predicted.steps[1].end_seconds, 6);
}

// b and c share a thread. c waits for nothing, but its 2 s begin after b's 4 s, in the plan's order. b and c do not
// overlap, but both run beside a. a takes 10 s, and 6 of them are beside b or c. So all take 1.5 times as long: b ends
// at 6, c at 9, a at 15.
TEST(Predict, lets_devices_of_one_lane_work_in_turn) {
  const Plan plan{
      "three", {"a", "b", "c"}, {{0, {tokens(10)}, {}, true}, {1, {tokens(2)}, {}, true}, {2, {tokens(1)}, {}, true}}};
  PlanCosts shared = costs();
  shared.lanes = {0, 1, 1};
  const Prediction predicted = predict(plan, shared);
  EXPECT_DOUBLE_EQ(predicted.steps[2].start_seconds, 6);
  EXPECT_DOUBLE_EQ(predicted.steps[2].end_seconds, 9);
  EXPECT_DOUBLE_EQ(predicted.seconds, 15);
  EXPECT_DOUBLE_EQ(predicted.busy_seconds[1], 6);
  EXPECT_DOUBLE_EQ(predicted.busy_seconds[2], 3);
}

}  // namespace
}  // namespace tandem
