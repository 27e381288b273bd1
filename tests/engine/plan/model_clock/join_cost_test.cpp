#include "engine/plan/model_clock/join_cost.h"

#include <gtest/gtest.h>

#include "tests/engine/plan/round_profile.h"

namespace tandem {
namespace {

SocProfile profile() {
  SocProfile p = round_profile();
  p.sync = {4 * kMs, 5 * kMs, 0.1 * kMs, 0};
  p.gpu.submit_empty_seconds = 0.3 * kMs;
  return p;
}

TEST(join_cost, fast_is_a_crossing_on_either_side) {
  const JoinCost cost = join_cost(profile(), SyncCost::fast, Dominant::gpu);
  EXPECT_DOUBLE_EQ(cost.before(), 0.1 * kMs);
  EXPECT_DOUBLE_EQ(cost.end_seconds, 0.1 * kMs);
  EXPECT_DOUBLE_EQ(cost.sync_seconds(), 0.2 * kMs);
  EXPECT_EQ(cost.copy_seconds, 0);
}

TEST(join_cost, where_the_npu_dominates_the_gpu_begins_again_with_an_empty_queue) {
  const JoinCost cost = join_cost(profile(), SyncCost::fast, Dominant::npu);
  EXPECT_DOUBLE_EQ(cost.resume_seconds, 0.3 * kMs);
  EXPECT_DOUBLE_EQ(cost.sync_seconds(), 0.5 * kMs);
}

// T_copy is 4 ms. T_sync is 5 + 0.3 ms, for either dominant side.
TEST(join_cost, slow_is_a_copy_before_and_a_blocking_wait_behind) {
  for (const Dominant dominant : {Dominant::gpu, Dominant::npu}) {
    const JoinCost cost = join_cost(profile(), SyncCost::slow, dominant);
    EXPECT_DOUBLE_EQ(cost.before(), 4 * kMs);
    EXPECT_DOUBLE_EQ(cost.copy_seconds, 4 * kMs);
    EXPECT_DOUBLE_EQ(cost.end_seconds, 5 * kMs);
    EXPECT_DOUBLE_EQ(cost.sync_seconds(), 5.3 * kMs);
  }
}

}  // namespace
}  // namespace tandem
