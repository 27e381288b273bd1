// Several runs in flight at one executor: their order, their failures, and the measurements of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/run/pass/executor.h"
#include "sync/error.h"
#include "tests/engine/run/pass/executor_support.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class RunsTest : public ExecutorTest {
 protected:
  Executor& executor() {
    if (!executor_)
      executor_ = std::make_unique<Executor>(pool_, std::vector<Device*>{host_.get(), npu_.get()},
                                             ExecutorOptions{sync::Policy::predict, std::chrono::seconds(60), {}});
    return *executor_;
  }
  // Runs a += a on the host alone.
  std::unique_ptr<PreparedPlan> doubling(sync::Slot& a) {
    const std::vector<Placed> placed = {{0, {"double", Add{1, 16, {&a, 0}, {&a, 0}, 16, 16}}}};
    return executor().prepare(schedule("on the host", {"host"}, placed));
  }
  // Runs y = W x on the NPU alone.
  std::unique_ptr<PreparedPlan> multiplying() {
    return executor().prepare(schedule("on the NPU", {"npu:0"}, std::vector<Placed>{{0, {"product", product()}}}));
  }
  // The value 1 in a buffer of its own.
  sync::Slot& one() {
    sync::Slot& slot = pool_.acquire(64, sync::SlotUse::activations, "one");
    slot.as<float>()[0] = 1;
    return slot;
  }
  std::unique_ptr<Executor> executor_;
};

TEST_F(RunsTest, of_one_plan_follow_each_other_in_the_order_of_their_starts_whichever_is_waited_for_first) {
  const auto prepared = executor().prepare(plan(128));
  for (const bool last_first : {false, true}) {
    std::fill_n(z_.as<float>(), kS * kN, 0.0f);
    for (int64_t i = 0; i < kS * kK; ++i) x_.as<float>()[i] = static_cast<float>(i % 7) - 3;
    std::vector<tandem::Run> runs;
    for (int run = 0; run < 4; ++run) runs.push_back(executor().start(*prepared));
    if (last_first) std::ranges::reverse(runs);
    for (tandem::Run& run : runs) EXPECT_GE(executor().wait(std::move(run)), 0.0);
    for (int64_t n = 0; n < kN; ++n) ASSERT_EQ(z_.as<float>()[n], expected(0, n, 4)) << n << last_first;
  }
}

// A device that holds its launches back until let_go().
struct Held final : Device {
  explicit Held(Device& behind) : behind(behind) {}
  const DeviceInfo& info() const override { return behind.info(); }
  Support supports(const Operator& op) const override { return behind.supports(op); }
  std::unique_ptr<Program> prepare(std::span<const Operator> operators) override { return behind.prepare(operators); }
  void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) override {
    kept.emplace_back(std::move(sequence), base);
  }
  Cost estimate(std::span<const Operator> operators) const override { return behind.estimate(operators); }
  void finish(std::chrono::milliseconds deadline) override { behind.finish(deadline); }
  DeviceLab& lab() override { return lab_of(behind); }
  void let_go() {
    for (auto& [sequence, base] : kept) behind.launch(std::move(sequence), base);
    kept.clear();
  }
  Device& behind;
  std::vector<std::pair<std::shared_ptr<const LaunchSequence>, uint32_t>> kept;
};

TEST_F(RunsTest, on_different_devices_end_independently_of_each_other) {
  Held held(*npu_);
  executor_ = std::make_unique<Executor>(pool_, std::vector<Device*>{host_.get(), &held},
                                         ExecutorOptions{sync::Policy::predict, std::chrono::seconds(60), {}});
  sync::Slot& a = one();
  const auto on_npu = multiplying(), on_host = doubling(a);
  tandem::Run slow = executor().start(*on_npu);
  for (int run = 0; run < 3; ++run) executor().run(*on_host);
  EXPECT_EQ(a.as<float>()[0], 8.0f);
  EXPECT_EQ(y_.as<float>()[5], 0.0f) << "the held device has done something";
  held.let_go();
  executor().wait(std::move(slow));
  EXPECT_EQ(y_.as<float>()[5], expected(0, 5, 1) / 2);
}

TEST_F(RunsTest, that_are_dropped_have_ended_when_they_are_gone) {
  sync::Slot& a = one();
  const auto prepared = doubling(a);
  {
    std::vector<tandem::Run> runs;
    for (int run = 0; run < 100; ++run) runs.push_back(executor().start(*prepared));
    runs.front() = std::move(runs.back());
  }
  EXPECT_EQ(a.as<float>()[0], 0x1p100f);
  const auto broken = executor().prepare(this->broken());
  { const tandem::Run failing = executor().start(*broken); }
  executor().run(*prepared);
  EXPECT_EQ(a.as<float>()[0], 0x1p101f);
}

TEST_F(RunsTest, lose_with_a_failed_one_what_was_to_come_behind_it_and_nothing_else) {
  sync::Slot &a = one(), &c = one();
  const auto before = doubling(a), elsewhere = multiplying(), behind = doubling(c);
  const auto broken = executor().prepare(this->broken());
  for (int round = 1; round <= 3; ++round) {
    y_.as<float>()[5] = 0;
    tandem::Run first = executor().start(*before), npu = executor().start(*elsewhere),
                failing = executor().start(*broken), last = executor().start(*behind);
    executor().wait(std::move(npu));
    executor().wait(std::move(first));
    const std::string failure = error_of([&] { executor().wait(std::move(failing)); });
    EXPECT_THAT(failure, HasSubstr("blk.9.rope"));
    EXPECT_THAT(failure, HasSubstr("host"));
    const std::string lost = error_of([&] { executor().wait(std::move(last)); });
    EXPECT_THAT(lost, HasSubstr("a run was lost: on the host"));
    EXPECT_THAT(lost, HasSubstr("blk.9.rope"));
    EXPECT_EQ(a.as<float>()[0], static_cast<float>(1 << round));
    EXPECT_EQ(y_.as<float>()[5], expected(0, 5, 1) / 2);
    EXPECT_EQ(c.as<float>()[0], 1.0f) << "what was behind the failed run has run";
  }
  executor().run(*behind);
  EXPECT_EQ(c.as<float>()[0], 2.0f);
}

TEST_F(RunsTest, whose_gpu_follows_the_npu_are_submitted_in_the_order_of_their_starts) {
  const GpuInName gpu(*host_);
  executor_ = std::make_unique<Executor>(pool_, std::vector<Device*>{&gpu.device(), npu_.get()},
                                         ExecutorOptions{sync::Policy::predict, std::chrono::seconds(60), {}});
  Plan following = plan(128);
  following.dominant = Dominant::npu;
  const auto follows = executor().prepare(following), ahead = executor().prepare(plan(64));
  tandem::Run first = executor().start(*follows), second = executor().start(*follows), third = executor().start(*ahead);
  executor().wait(std::move(second));
  executor().wait(std::move(first));
  executor().wait(std::move(third));
  for (int64_t n = 0; n < kN; ++n) ASSERT_EQ(z_.as<float>()[n], expected(0, n, 3)) << n;
}

TEST_F(RunsTest, that_are_measured_get_their_own_spans) {
  const auto prepared = executor().prepare(plan(128));
  sync::Slot& a = one();
  const auto other = doubling(a), another = doubling(a);
  tandem::Run first = executor().start(*prepared, true), unmeasured = executor().start(*another),
              second = executor().start(*other, true);
  PassSpans of_first, of_second;
  executor().wait(std::move(second), &of_second);
  executor().wait(std::move(unmeasured));
  executor().wait(std::move(first), &of_first);
  ASSERT_EQ(of_first.size(), 2u);
  EXPECT_EQ(of_first[0].size(), 3u);
  EXPECT_EQ(of_first[1].size(), 1u);
  ASSERT_EQ(of_second.size(), 1u);
  ASSERT_EQ(of_second[0].size(), 1u);
  EXPECT_GE(of_second[0].front().start_seconds, of_first[0].back().end_seconds);
  PassSpans of_next;
  executor().wait(executor().start(*other, true), &of_next);
  EXPECT_EQ(of_next[0].size(), 1u) << "something is left of the runs before";
}

}  // namespace
}  // namespace tandem
