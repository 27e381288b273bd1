// The targets, judged by figures made up by hand.
#include "engine/run/sync_lab/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/run/sync_lab/lab_values.h"

namespace tandem::sync_lab {
namespace {

using ::tandem::testing::lab_result;
using ::testing::HasSubstr;

TEST(Targets, are_judged_by_the_ratios_of_the_rows) {
  const std::vector<Target> targets = judge(lab_result());
  ASSERT_EQ(targets.size(), 5u);
  for (const Target& target : targets) ASSERT_TRUE(target.figure) << target.name << ": " << target.note;
  EXPECT_NEAR(*targets[0].figure, 0.11 / 0.1, 1e-9);  // doorbell over the limit
  EXPECT_NEAR(*targets[1].figure, 0.8, 1e-9);         // gate, microseconds
  EXPECT_NEAR(*targets[2].figure, 50 / 0.11, 1e-6);   // blocking over doorbell
  EXPECT_NEAR(*targets[3].figure, 1022.0 / 1020.0, 1e-9);
  EXPECT_NEAR(*targets[4].figure, 120.0 / 1020.0, 1e-9);
  for (const Target& target : targets) EXPECT_TRUE(target.met()) << target.name;
}

TEST(Targets, are_missed_just_beyond_their_bounds) {
  LabResult result = lab_result();
  for (SyncRow& row : result.devices[0].rows) {
    if (row.policy == "doorbell")
      row.round_trip.p50 = row.round_trip.middle = 1.01e-6;  // 10.1 transfers; clFinish is 49.5 of it
    if (row.policy == "gate") row.round_trip.p50 = 1.01e-6;
    if (row.policy == "predict") {
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
