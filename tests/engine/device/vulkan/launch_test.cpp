// Launching: flags, order, failures and deadlines. It runs with shared memory and with copies, with semaphores and with
// fences, with both ways of submitting.
#include <gmock/gmock.h>

#include <thread>

#include "sync/waiter.h"
#include "tests/engine/device/vulkan/vulkan_test.h"

namespace tandem::vulkan {
namespace {

using sync::Flag;
using sync::WaitFor;
using ::testing::HasSubstr;

struct Way {
  sync::Policy policy;
  bool copies, older_calls = false;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << name_of(way.policy) << (way.copies ? "_copies" : "") << (way.older_calls ? "_older_calls" : "");
}

class VulkanLaunching : public VulkanTest, public ::testing::WithParamInterface<Way> {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) device_ = open_way(std::chrono::milliseconds(30000));
  }
  std::unique_ptr<Device> open_way(std::chrono::milliseconds wait_deadline) {
    DeviceOptions options;
    options.sync_policy = GetParam().policy;
    options.force_copies = GetParam().copies;
    options.wait_deadline = wait_deadline;
    Tuning tuning;
    tuning.older_calls = GetParam().older_calls;
    return open(options, tuning);
  }
  static void wait(const Flag& flag, uint32_t epoch) {
    sync::WaitContext context;
    context.step = "test", context.device = "vulkan:0", context.deadline = kDeadline;
    sync::make_waiter(sync::Policy::blocking)->wait(flag, epoch, context);
  }

  Flag in_ = flags_.make("in"), out_ = flags_.make("out"), last_ = flags_.make("last");
  AddCase case_{pool_, 3, 50};
  Operator op_ = case_.as_operator("blk.7.test");
};

INSTANTIATE_TEST_SUITE_P(Ways, VulkanLaunching,
                         ::testing::Values(Way{sync::Policy::predict, false}, Way{sync::Policy::blocking, false},
                                           Way{sync::Policy::spin, true}, Way{sync::Policy::blocking, true},
                                           Way{sync::Policy::predict, false, true},
                                           Way{sync::Policy::spin, true, true}));

TEST_P(VulkanLaunching, a_program_starts_after_its_flag_and_raises_its_signal) {
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 5}};
  launch_one(*device_, *program, waits, {out_, 9});
  in_.raise(4);  // not far enough
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(out_.epoch(), 0u);
  EXPECT_TRUE(case_.all_are(0));
  in_.raise(5);
  wait(out_, 9);
  EXPECT_TRUE(case_.all_are(1));
  device_->finish(kDeadline);
}

TEST_P(VulkanLaunching, launches_queued_ahead_read_what_was_written_before_their_flags) {
  const auto program = device_->prepare(std::span(&op_, 1));
  constexpr uint32_t kRounds = 10;
  for (uint32_t round = 1; round <= kRounds; ++round) {
    const WaitFor waits[] = {{in_, round}};
    launch_one(*device_, *program, waits, {out_, round});
  }
  for (uint32_t round = 1; round <= kRounds; ++round) {
    case_.fill(0, static_cast<float>(round));
    in_.raise(round);
    wait(out_, round);
    EXPECT_TRUE(case_.all_are(static_cast<float>(round))) << "round " << round;
  }
  device_->finish(kDeadline);
}

TEST_P(VulkanLaunching, programs_in_flight_run_in_order_and_may_wait_for_each_other) {
  AddCase next(pool_, 3, 50);  // adds the first program's result to its own
  next.op.y = case_.op.x, next.op.y_stride = case_.op.x_stride;
  const Operator second = next.as_operator();
  const auto a = device_->prepare(std::span(&op_, 1)), b = device_->prepare(std::span(&second, 1));
  constexpr uint32_t kRounds = 100;  // more launches than may be in flight
  std::vector<PlannedLaunch> launches;
  for (uint32_t round = 1; round <= kRounds; ++round) {
    launches.push_back({a.get(), {{in_, 1}, {last_, round - 1}}, {out_, round}});
    launches.push_back({b.get(), {{out_, round}}, {last_, round}});
  }
  device_->launch(make_sequence(*device_, std::move(launches)), 0);
  in_.raise(1);
  wait(last_, kRounds);
  device_->finish(kDeadline);
  EXPECT_TRUE(case_.all_are(kRounds));
  EXPECT_TRUE(next.all_are(kRounds * (kRounds + 1) / 2));
}

TEST_P(VulkanLaunching, a_program_waits_for_an_epoch_beyond_those_that_programs_in_front_of_it_raise) {
  const auto program = device_->prepare(std::span(&op_, 1));
  device_->launch(make_sequence(*device_, {{program.get(), {}, {out_, 1}}, {program.get(), {{out_, 2}}, {last_, 1}}}),
                  0);
  wait(out_, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(last_.epoch(), 0u);
  EXPECT_TRUE(case_.all_are(1));
  out_.raise(2);
  device_->finish(kDeadline);
  EXPECT_TRUE(last_.reached(1));
  EXPECT_TRUE(case_.all_are(2));
}

TEST_P(VulkanLaunching, operators_of_one_program_see_each_others_results) {
  AddCase next(pool_, 3, 50);
  next.op.y = case_.op.x, next.op.y_stride = case_.op.x_stride;
  const std::vector<Operator> operators{op_, next.as_operator(), op_, next.as_operator()};
  const auto program = device_->prepare(operators);
  launch_one(*device_, *program, {}, {out_, 1});
  device_->finish(kDeadline);
  EXPECT_TRUE(case_.all_are(2));
  EXPECT_TRUE(next.all_are(1 + 2));
}

TEST_P(VulkanLaunching, a_program_may_be_destroyed_while_it_is_queued) {
  auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  program.reset();
  in_.raise(1);
  wait(out_, 1);
  EXPECT_TRUE(case_.all_are(1));
  device_->finish(kDeadline);
}

TEST_P(VulkanLaunching, a_failure_passes_through_to_every_later_flag_and_is_thrown_once) {
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  launch_one(*device_, *program, {}, {last_, 1});
  in_.fail("the NPU ran out of luck");
  const std::string message = message_of([&] { device_->finish(kDeadline); });
  EXPECT_THAT(message, HasSubstr("'in'"));
  EXPECT_THAT(message, HasSubstr("vulkan:0"));
  EXPECT_THAT(message, HasSubstr("blk.7.test"));
  EXPECT_TRUE(out_.failed());
  EXPECT_TRUE(last_.failed());
  EXPECT_THAT(last_.failure(), HasSubstr("'in'"));
  EXPECT_FALSE(out_.reached(1));
  EXPECT_TRUE(case_.all_are(0)) << "nothing ran";
  for (const Flag& flag : {in_, out_, last_}) flag.clear_failure();
  launch_one(*device_, *program, {}, {out_, 2});
  device_->finish(kDeadline);
  EXPECT_TRUE(out_.reached(2));
  EXPECT_TRUE(case_.all_are(1));
}

TEST_P(VulkanLaunching, a_flag_that_nobody_raises_ends_at_the_deadline_and_is_named) {
  device_.reset();
  device_ = open_way(std::chrono::milliseconds(50));
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 3}};
  launch_one(*device_, *program, waits, {out_, 1});
  const std::string message = message_of([&] { device_->finish(kDeadline); });
  EXPECT_THAT(message, HasSubstr("deadline"));
  EXPECT_THAT(message, HasSubstr("'in'"));
  EXPECT_THAT(message, HasSubstr("epoch 3"));
  EXPECT_TRUE(out_.failed());
}

TEST_P(VulkanLaunching, finish_does_not_wait_longer_than_its_own_deadline) {
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  EXPECT_THAT(message_of([&] { device_->finish(std::chrono::milliseconds(30)); }), HasSubstr("30 ms"));
  in_.raise(1);
  device_->finish(kDeadline);
  EXPECT_TRUE(out_.reached(1));
}

TEST_P(VulkanLaunching, an_empty_program_only_passes_the_signal_on) {
  const auto program = device_->prepare({});
  const WaitFor waits[] = {{in_, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  in_.raise(1);
  device_->finish(kDeadline);
  EXPECT_TRUE(out_.reached(1));
}

TEST_P(VulkanLaunching, closing_the_device_ends_waits_and_fails_what_has_not_started_and_programs_may_outlive_it) {
  device_.reset();
  device_ = open_way(std::chrono::milliseconds(60000));
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  launch_one(*device_, *program, {}, {last_, 1});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // by now the first program waits, asleep
  const auto begin = std::chrono::steady_clock::now();
  device_.reset();
  // This checks no speed: a wait that ends at the flag's deadline takes a minute, and its error says so.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_TRUE(out_.failed());
  EXPECT_TRUE(last_.failed());
  EXPECT_THAT(out_.failure(), HasSubstr("the device was closed"));
  EXPECT_THAT(last_.failure(), HasSubstr("the device was closed"));
  EXPECT_TRUE(case_.all_are(0));
}

}  // namespace
}  // namespace tandem::vulkan
