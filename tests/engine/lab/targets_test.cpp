// The laboratory's targets, judged with made-up figures.
#include "engine/lab/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/lab/cache_line.h"
#include "tests/engine/lab/lab_values.h"

namespace tandem::sync_lab {
namespace {

using ::tandem::testing::lab_result;
using ::testing::HasSubstr;

TEST(Targets, are_judged_by_the_ratios_of_the_rows) {
  const std::vector<Target> targets = judge(lab_result());
  ASSERT_EQ(targets.size(), 5u);
  for (const Target& target : targets) ASSERT_TRUE(target.figure) << target.name << ": " << target.note;
  EXPECT_NEAR(*targets[0].figure, 0.11 / 0.1, 1e-9);   // doorbell over the limit
  EXPECT_NEAR(*targets[1].figure, 0.8, 1e-9);          // gate, microseconds
  EXPECT_NEAR(*targets[2].figure, 50 / 0.11, 1e-6);    // blocking over doorbell
  EXPECT_NEAR(*targets[3].figure, 22.0 / 20.0, 1e-9);  // without the work, which is 1000 for both
  EXPECT_NEAR(*targets[4].figure, 120.0 / 1020.0, 1e-9);
  for (const Target& target : targets) EXPECT_EQ(target.met(), &target != &targets[3]) << target.name;
}

// Twice the overhead of spin is 2 % of a step of 1 ms. With the work included it would pass as "within 5 %".
TEST(Targets, judge_the_overhead_of_predict_without_the_work) {
  LabResult result = lab_result();
  for (const double overhead : {20e-6, 21e-6, 40e-6}) {
    for (SyncRow& row : result.devices[0].rows)
      if (row.policy == sync::Policy::predict) row.overhead.p50 = overhead;
    const Target target = judge(result)[3];
    EXPECT_NEAR(*target.figure, overhead / 20e-6, 1e-9);
    EXPECT_EQ(target.met(), overhead < 30e-6);
    EXPECT_THAT(target.name, HasSubstr("overhead"));
  }
}

// Host and card are on different sides of a bus, and no cache line crosses it.
TEST(Targets, of_a_card_set_its_gate_against_a_read_across_the_bus) {
  LabResult result = lab_result();
  DeviceResult& card = result.devices[0];
  card.own_memory = true;
  card.bus = BusTrip{::tandem::testing::around(0.5e-6)};
  const std::vector<Target> targets = judge(result);
  ASSERT_EQ(targets.size(), 6u);
  EXPECT_FALSE(targets[0].figure) << "the doorbell, by a cache line";
  EXPECT_FALSE(targets[1].figure) << "the gate, by a bound for cores";
  ASSERT_TRUE(targets[5].figure) << targets[5].note;
  EXPECT_NEAR(*targets[5].figure, 0.8 / 0.5, 1e-9);
  EXPECT_DOUBLE_EQ(targets[5].bound, 1.2);
  EXPECT_FALSE(targets[5].met());
  EXPECT_THAT(targets[5].note, HasSubstr("across the bus"));
  card.bus.reset();
  EXPECT_FALSE(judge(result)[5].figure);
}

// No target uses a launch and its end. They are measured where a policy cannot be.
TEST(Targets, are_not_judged_by_a_launch_that_stands_for_a_policy) {
  LabResult result = lab_result();
  for (SyncRow& row : result.devices[0].rows) row.launched = true;
  for (const Target& target : judge(result)) EXPECT_FALSE(target.figure) << target.name;
}

// The two readings are 0.08 and 0.12 us. It is unknown which of them held while the row ran.
TEST(Targets, do_not_judge_the_doorbell_by_a_cache_line_that_changed_meanwhile) {
  LabResult result = lab_result();
  result.devices[0].limit->before_seconds = 0.08e-6;
  result.devices[0].limit->after_seconds = 0.12e-6;
  const Target target = judge(result)[0];
  EXPECT_FALSE(target.figure);
  EXPECT_THAT(target.note, HasSubstr("0.08 us"));
  EXPECT_THAT(target.note, HasSubstr("0.12 us"));
  result.devices[0].limit.reset();
  EXPECT_FALSE(judge(result)[0].figure);
}

// The values are sorted, and a quarter is cut off at each end. The middle halves of 1 to 4 and of 5 to 8 are 2, 3 and
// 6, 7; that of both is 3 to 6.
TEST(CacheLine, is_the_middle_of_both_readings_of_the_device_that_it_was_measured_beside) {
  const CacheLine line = line_of({1, 0}, {1, 4, 2, 3}, {8, 5, 7, 6});
  EXPECT_DOUBLE_EQ(line.before_seconds, 2.5);
  EXPECT_DOUBLE_EQ(line.after_seconds, 6.5);
  EXPECT_DOUBLE_EQ(line.round_trip.middle, 4.5);
  EXPECT_EQ(line.round_trip.count, 8);
  EXPECT_FALSE(line.steady());
  EXPECT_TRUE(line_of({1, 0}, {4, 4, 4, 4}, {5, 5, 5, 5}).steady());
  EXPECT_FALSE(line_of({1, 0}, {4, 4, 4, 4}, {5.1, 5.1, 5.1, 5.1}).steady());
}

TEST(CacheLine, goes_between_the_waiters_core_and_another_one_of_the_device) {
  EXPECT_EQ(line_cores(1, {0}), (std::vector{1, 0}));
  EXPECT_EQ(line_cores(0, {0, 3, 4}), (std::vector{0, 3}));
  EXPECT_TRUE(line_cores(0, {0}).empty());
  EXPECT_TRUE(line_cores(0, {}).empty());  // the device runs on no core of this machine
}

TEST(CacheLine, that_could_not_be_measured_is_a_reason) {
  DeviceResult device;
  LineMeter({}).into(device);
  EXPECT_FALSE(device.limit);
  EXPECT_THAT(device.no_limit, HasSubstr("not known to work on a core"));
  device.cores = {0};
  LineMeter({}).into(device);
  EXPECT_THAT(device.no_limit, HasSubstr("only core"));
  LineMeter({0, 1}).into(device);  // no reading was taken
  EXPECT_THAT(device.no_limit, HasSubstr("never free"));
}

TEST(CacheLine, is_what_every_row_of_its_device_refers_to) {
  const LabResult result = lab_result();
  const DeviceResult& device = result.devices[0];
  EXPECT_NEAR(*device.times_limit(device.rows[0]), 50 / 0.1, 1e-9);
  EXPECT_NEAR(*device.times_limit(device.rows[4]), 0.11 / 0.1, 1e-9);
  EXPECT_FALSE(DeviceResult().times_limit(device.rows[0]));
}

TEST(Targets, are_missed_just_beyond_their_bounds) {
  LabResult result = lab_result();
  for (SyncRow& row : result.devices[0].rows) {
    if (row.policy == sync::Policy::doorbell)
      row.round_trip.p50 = row.round_trip.middle = 1.01e-6;  // 10.1 transfers; clFinish takes 49.5 times as long
    if (row.policy == sync::Policy::gate) row.round_trip.p50 = 1.01e-6;
    if (row.policy == sync::Policy::predict) {
      row.overhead.p50 = 75e-6;
      row.cpu_thread_seconds = 360e-6;
    }
  }
  for (const Target& target : judge(result)) EXPECT_FALSE(target.met()) << target.name;
}

TEST(Targets, without_their_rows_have_no_figure_and_say_so) {
  for (const Target& target : judge(LabResult())) {
    EXPECT_FALSE(target.figure);
    EXPECT_FALSE(target.met());
    EXPECT_THAT(target.note, HasSubstr("not judged"));
  }
}

TEST(Targets, are_not_judged_by_rows_measured_among_spinners_or_failed) {
  LabResult result = lab_result();
  for (SyncRow& row : result.devices[0].rows) row.spinners = 2;
  for (const Target& target : judge(result)) EXPECT_FALSE(target.figure) << target.name;
  result = lab_result();
  for (SyncRow& row : result.devices[0].rows) row.status = RowStatus::failed;
  for (const Target& target : judge(result)) EXPECT_FALSE(target.figure) << target.name;
  EXPECT_TRUE(result.lost_steps());
  EXPECT_FALSE(lab_result().lost_steps());
}

}  // namespace
}  // namespace tandem::sync_lab
