// The executor on the host device and the NPU. The tests need no driver, and the thread sanitizer sees all code.
#include "engine/run/pass/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/registry.h"
#include "sync/error.h"
#include "tests/engine/run/pass/executor_support.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

class EveryPolicy : public ExecutorTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryPolicy, runs_both_parts_of_a_cut_matmul_in_the_right_order_again_and_again) {
  Executor executor(pool_, {host_.get(), npu_.get()}, {sync::policy_named(GetParam()), std::chrono::seconds(60), {}});
  const auto prepared = executor.prepare(plan(128));
  constexpr int kRuns = 6;  // with so many runs x stays exact in f16
  for (int run = 0; run < kRuns; ++run) EXPECT_GT(executor.run(*prepared), 0.0);
  for (int64_t s = 0; s < kS; ++s) {
    for (int64_t n = 0; n < kN; ++n) ASSERT_EQ(z_.as<float>()[s * kN + n], expected(s, n, kRuns)) << s << " " << n;
  }
}

// H7: the other order of submission gives the same numbers. There is no driver here, so the host stands in for the GPU.
TEST_P(EveryPolicy, submits_what_waits_for_the_npu_when_the_npu_has_ended) {
  const GpuInName gpu(*host_);
  Executor executor(pool_, {&gpu.device(), npu_.get()}, {sync::policy_named(GetParam()), std::chrono::seconds(60), {}});
  Plan following = plan(128);
  following.dominant = Dominant::npu;
  const auto prepared = executor.prepare(following);
  constexpr int kRuns = 6;
  for (int run = 0; run < kRuns; ++run) EXPECT_GT(executor.run(*prepared), 0.0);
  EXPECT_EQ(gpu.launched_with_waits(), 0);
  for (int64_t s = 0; s < kS; ++s) {
    for (int64_t n = 0; n < kN; ++n) ASSERT_EQ(z_.as<float>()[s * kN + n], expected(s, n, kRuns)) << s << " " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, ::testing::ValuesIn(sync::waiter_names()));

// The NPU's queue runs the steps of both devices. In any order other than the plan's, the first wait would hang.
TEST_F(ExecutorTest, runs_two_devices_that_share_one_thread) {
  const auto beside = open_host_on(*npu_, {});
  Executor executor(pool_, {beside.get(), npu_.get()},
                    {sync::Policy::predict, std::chrono::seconds(20), {"host", "npu:0"}});
  const auto prepared = executor.prepare(plan(128));
  for (int run = 0; run < 3; ++run) executor.run(*prepared);
  EXPECT_EQ(z_.as<float>()[5], expected(0, 5, 3));
}

TEST_F(ExecutorTest, names_the_step_that_failed_and_runs_the_next_plan_as_if_nothing_had_happened) {
  Executor executor(pool_, {host_.get(), npu_.get()}, {sync::Policy::predict, std::chrono::seconds(60), {"npu:0"}});
  const auto broken = executor.prepare(this->broken());
  const auto good = executor.prepare(plan(64));
  for (int round = 1; round <= 3; ++round) {
    try {
      executor.run(*broken);
      FAIL() << "a position outside the table went unnoticed";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("blk.9.rope"));
      EXPECT_THAT(error.what(), HasSubstr("host"));
    }
    executor.run(*good);
    EXPECT_EQ(z_.as<float>()[5], expected(0, 5, round));
  }
}

TEST_F(ExecutorTest, records_measured_spans_of_every_device_and_the_npus_modelled_ones) {
  Executor executor(pool_, {host_.get(), npu_.get()}, {sync::Policy::spin, std::chrono::seconds(60), {}});
  const auto prepared = executor.prepare(plan(128));
  Timeline timeline;
  executor.record(&timeline);
  executor.run(*prepared);
  executor.record(nullptr);
  executor.run(*prepared);  // records nothing
  int host = 0, npu = 0, modelled = 0;
  for (const Span& span : timeline.spans()) {
    EXPECT_LE(span.start_seconds, span.end_seconds) << span.track;
    host += span.track == "host";
    npu += span.track == "npu:0";
    modelled += span.modelled;
    EXPECT_EQ(span.modelled, span.track == "npu:0 (model clock)") << span.track;
  }
  EXPECT_EQ(host, 3);
  EXPECT_EQ(npu, 1);
  EXPECT_EQ(modelled, 1);
  EXPECT_GT(timeline.busy_seconds("npu:0"), 0.0);
}

TEST_F(ExecutorTest, refuses_a_plan_for_a_device_that_is_not_open) {
  Executor executor(pool_, {host_.get()}, {sync::Policy::predict, std::chrono::seconds(60), {}});
  EXPECT_THROW(executor.prepare(plan(128)), Error);
}

}  // namespace
}  // namespace tandem
