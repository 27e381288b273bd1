#include "engine/plan/partition/staggering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tandem {
namespace {

using ::testing::ElementsAre;

constexpr double kNever = std::numeric_limits<double>::infinity();

Operator matmul() { return {"matmul", MatMul{}}; }
Operator other() { return {"add", Add{}}; }

TEST(Stages, alternate_and_begin_with_what_is_no_matmul) {
  const std::vector<Operator> operators = {matmul(), matmul(), other(), other(), other(), matmul()};
  std::vector<size_t> sizes;
  std::vector<bool> multiplies;
  for (const Stage& stage : stages_of(operators)) {
    sizes.push_back(stage.operators.size());
    multiplies.push_back(stage.multiplies);
  }
  EXPECT_THAT(sizes, ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(multiplies, ElementsAre(false, true, false, true));
}

// Each half has 2 s of other work, then a matmul of 4 panels that takes 8 s on either device.
const std::vector<StageSeconds> kHalf = {{2, 0, 1}, {8, 8, 4}};

TEST(Stagger, cuts_rows_so_that_both_devices_end_together) {
  const Staggering plan = stagger(kHalf, kHalf, 1);
  ASSERT_EQ(plan.slots.size(), 3u);
  // Slot 0 has the other work of the first half, until 2 s. Nothing is multiplied.
  EXPECT_EQ(plan.slots[0].half_beside, 0);
  EXPECT_EQ(plan.slots[0].half_multiplied, -1);
  // Slot 1 has the other work of the second half, until 4 s. The first half is multiplied from 2 s on the second
  // device and from 4 s on the first. A panel takes 2 s. One panel on the first device (until 6) and three on the
  // second (until 8) end at 8. Two and two end at 8 (first) and 6 (second). With equal ends the second device gets
  // more panels.
  EXPECT_EQ(plan.slots[1].half_beside, 1);
  EXPECT_EQ(plan.slots[1].half_multiplied, 0);
  EXPECT_DOUBLE_EQ(plan.slots[1].share_of_first, 0.25);
  // In slot 2 the second half is multiplied from 6 s on the first device and from 8 s on the second. Three panels
  // against one end at 12 and 10, two against two at 10 and 12. With equal ends the second device gets more panels.
  EXPECT_EQ(plan.slots[2].half_beside, -1);
  EXPECT_EQ(plan.slots[2].half_multiplied, 1);
  EXPECT_DOUBLE_EQ(plan.slots[2].share_of_first, 0.5);
  EXPECT_DOUBLE_EQ(plan.seconds, 12);
}

TEST(Stagger, leaves_a_matmul_to_the_first_device_where_the_second_cannot) {
  const std::vector<StageSeconds> half = {{2, 0, 1}, {8, kNever, 4}};
  const Staggering plan = stagger(half, half, 1);
  EXPECT_DOUBLE_EQ(plan.slots[1].share_of_first, 1);
  EXPECT_DOUBLE_EQ(plan.seconds, 2 * (2 + 8));
}

TEST(Stagger, runs_every_stage_of_both_halves_once_whatever_the_lag) {
  const std::vector<StageSeconds> half = {{1, 0, 1}, {4, 4, 3}, {5, 0, 1}, {2, 2, 3}, {1, 0, 1}, {9, 9, 3}};
  for (const int lag : {1, 3, 5, 7}) {
    std::vector<int> beside, multiplied;
    for (const Slot& slot : stagger(half, half, lag).slots) {
      if (slot.half_beside >= 0) beside.push_back(slot.half_beside * 10 + slot.stage_beside);
      if (slot.half_multiplied >= 0) multiplied.push_back(slot.half_multiplied * 10 + slot.stage_multiplied);
    }
    EXPECT_THAT(beside, ::testing::UnorderedElementsAre(0, 2, 4, 10, 12, 14)) << lag;
    EXPECT_THAT(multiplied, ::testing::UnorderedElementsAre(1, 3, 5, 11, 13, 15)) << lag;
  }
}

TEST(Stagger, finds_the_lag_that_puts_long_other_work_beside_long_matmuls) {
  // If a layer's attention (10 s) runs beside the short matmul that follows it in the other half, the second device is
  // idle. Beside the long matmul it is not.
  std::vector<StageSeconds> half;
  for (int layer = 0; layer < 8; ++layer) {
    for (const auto& [other, multiply] : {std::pair{10.0, 2.0}, {1.0, 20.0}}) {
      half.push_back({other, 0, 1});
      half.push_back({multiply, multiply, 64});
    }
  }
  const Staggering best = best_staggering(half, half);
  EXPECT_EQ(best.lag, 3);
  EXPECT_LT(best.seconds, stagger(half, half, 1).seconds);
  // Two halves have 8 layers of 11 s and 22 s on two devices: 264 s without any wait.
  EXPECT_LT(best.seconds, 1.15 * 264);
}

}  // namespace
}  // namespace tandem
