#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/device/opencl/opencl_tuning.h"
#include "sync/error.h"
#include "sync/waiter.h"
#include "tests/engine/device/opencl/runtime/weights.h"
#include "tests/support/message_of.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using test::message_of;

using sync::Flag;
using sync::Signal;
using sync::WaitFor;
using test::MatMulCase;
using testing::HasSubstr;
constexpr std::chrono::seconds kDeadline{60};

// With one token, programs go into a list (kernels/list.cl) if gates work. With more tokens, each kernel is
// launched separately.
struct Way {
  sync::Policy policy;
  int tokens;
  bool c11_atomics = true;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << name_of(way.policy) << "_" << way.tokens << (way.c11_atomics ? "" : "_without_c11_atomics");
}

// Every test runs with lists, with gates in the queue, and with the host thread that replaces gates.
class Launching : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
    open(std::chrono::milliseconds(30000));
    if (GetParam().policy != sync::Policy::blocking && !device_->info().policies.back().passed) {
      GTEST_SKIP() << "skipped: no gates here: " << device_->info().policies.back().reason;
    }
  }
  void open(std::chrono::milliseconds wait_deadline) {
    DeviceOptions options;
    options.gpu_family = KernelFamily::simd;
    options.sync_policy = GetParam().policy;
    options.wait_deadline = wait_deadline;
    opencl::Tuning tuning;
    tuning.list_single_programs = GetParam().tokens == 1;
    tuning.c11_atomics = GetParam().c11_atomics;
    device_ = opencl::open_device_tuned(0, options, tuning);
  }
  static void wait(const Flag& flag, uint32_t epoch) {
    sync::WaitContext context;
    context.step = "test", context.device = "opencl:0", context.deadline = kDeadline;
    sync::make_waiter(sync::Policy::blocking)->wait(flag, epoch, context);
  }

  sync::Pool pool_;
  sync::FlagBank flags_{pool_, 8, "flags"};
  Flag in_ = flags_.make("in"), out_ = flags_.make("out"), last_ = flags_.make("last");
  MatMulCase case_{StorageType::q4_0, GetParam().tokens, 96, 64};
  Operator op_ = case_.as_operator("blk.7.test");
  std::unique_ptr<Device> device_;  // declared after the pools, so it drops its imports first
};

INSTANTIATE_TEST_SUITE_P(policies, Launching,
                         testing::Values(Way{sync::Policy::predict, 1}, Way{sync::Policy::predict, 2},
                                         Way{sync::Policy::blocking, 2}, Way{sync::Policy::predict, 1, false},
                                         Way{sync::Policy::predict, 2, false}));

TEST_P(Launching, is_by_the_atomics_that_were_asked_for) {
  if (GetParam().policy == sync::Policy::blocking) return;  // no kernel waits
  for (const PolicyTest& test : device_->info().policies) {
    if (test.policy == sync::Policy::gate) {
      EXPECT_THAT(test.reason, HasSubstr(GetParam().c11_atomics ? "C11 atomics, device scope" : "no C11 atomics"));
    }
  }
}

TEST_P(Launching, a_program_starts_after_its_flag_and_raises_its_signal) {
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 5}};
  launch_one(*device_, *program, waits, {out_, 9});
  in_.raise(4);  // not far enough
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(out_.epoch(), 0u);
  EXPECT_EQ(case_.result(), std::vector<float>(case_.y_floats, test::kCanary));
  in_.raise(5);
  wait(out_, 9);
  EXPECT_TRUE(case_.correct());
  device_->finish(kDeadline);
}

TEST_P(Launching, a_flag_that_was_reached_and_has_failed_opens_no_gate) {
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 5}};
  in_.raise(5);
  in_.fail("half of a result");
  launch_one(*device_, *program, waits, {out_, 9});
  EXPECT_THROW(device_->finish(kDeadline), Error);
  EXPECT_EQ(out_.epoch(), 0u);
  EXPECT_TRUE(out_.failed());
}

TEST_P(Launching, waits_for_all_of_several_flags) {
  const auto program = device_->prepare(std::span(&op_, 1));
  const Flag second = flags_.make("second");
  const WaitFor waits[] = {{in_, 1}, {second, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  second.raise(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(out_.reached(1));
  in_.raise(1);
  wait(out_, 1);
  device_->finish(kDeadline);
}

TEST_P(Launching, a_launch_queued_ahead_reads_what_was_written_before_its_flag) {
  const auto program = device_->prepare(std::span(&op_, 1));
  std::mt19937 random(3);
  constexpr uint32_t kRounds = 10;
  for (uint32_t round = 1; round <= kRounds; ++round) {
    const WaitFor waits[] = {{in_, round}};
    launch_one(*device_, *program, waits, {out_, round});
  }
  for (uint32_t round = 1; round <= kRounds; ++round) {
    case_.set_x(random);
    in_.raise(round);
    wait(out_, round);
    EXPECT_TRUE(case_.correct()) << "round " << round;
  }
  device_->finish(kDeadline);
}

TEST_P(Launching, programs_in_flight_run_in_order_and_may_wait_for_each_other) {
  MatMulCase next(StorageType::f32, GetParam().tokens, 40, 96);
  next.op.x = case_.op.y, next.op.x_stride = case_.op.y_stride;
  const Operator second = next.as_operator();
  const auto a = device_->prepare(std::span(&op_, 1)), b = device_->prepare(std::span(&second, 1));
  const WaitFor first_waits[] = {{in_, 1}}, second_waits[] = {{out_, 1}};
  launch_one(*device_, *a, first_waits, {out_, 1});
  launch_one(*device_, *b, second_waits, {last_, 1});
  in_.raise(1);
  wait(last_, 1);
  EXPECT_TRUE(case_.correct());
  EXPECT_TRUE(next.correct());
  device_->finish(kDeadline);
}

TEST_P(Launching, a_program_may_be_destroyed_while_it_is_queued) {
  auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  program.reset();
  in_.raise(1);
  wait(out_, 1);
  EXPECT_TRUE(case_.correct());
  device_->finish(kDeadline);
}

TEST_P(Launching, a_failure_passes_through_to_every_later_flag_and_is_thrown_once) {
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  launch_one(*device_, *program, {}, {last_, 1});
  in_.fail("the NPU ran out of luck");
  const std::string message = message_of([&] { device_->finish(kDeadline); });
  EXPECT_THAT(message, HasSubstr("'in'"));
  EXPECT_THAT(message, HasSubstr("opencl:0"));
  EXPECT_TRUE(out_.failed());
  EXPECT_TRUE(last_.failed());
  EXPECT_THAT(last_.failure(), HasSubstr("'in'"));
  EXPECT_FALSE(out_.reached(1));
  for (const Flag& flag : {in_, out_, last_}) flag.clear_failure();
  launch_one(*device_, *program, {}, {out_, 2});
  device_->finish(kDeadline);
  EXPECT_TRUE(out_.reached(2));
  EXPECT_TRUE(case_.correct());
}

TEST_P(Launching, a_flag_that_nobody_raises_ends_at_the_deadline_and_is_named) {
  open(std::chrono::milliseconds(50));
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 3}};
  launch_one(*device_, *program, waits, {out_, 1});
  const std::string message = message_of([&] { device_->finish(kDeadline); });
  EXPECT_THAT(message, HasSubstr("deadline"));
  EXPECT_THAT(message, HasSubstr("'in'"));
  EXPECT_THAT(message, HasSubstr("epoch 3"));
  EXPECT_TRUE(out_.failed());
}

TEST_P(Launching, finish_does_not_wait_longer_than_its_own_deadline) {
  const auto program = device_->prepare(std::span(&op_, 1));
  const WaitFor waits[] = {{in_, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  EXPECT_THAT(message_of([&] { device_->finish(std::chrono::milliseconds(30)); }), HasSubstr("30 ms"));
  in_.raise(1);
  device_->finish(kDeadline);
  EXPECT_TRUE(out_.reached(1));
}

TEST_P(Launching, an_empty_program_only_passes_the_signal_on) {
  const auto program = device_->prepare({});
  const WaitFor waits[] = {{in_, 1}};
  launch_one(*device_, *program, waits, {out_, 1});
  in_.raise(1);
  device_->finish(kDeadline);
  EXPECT_TRUE(out_.reached(1));
}

TEST(GateLauncher, closing_the_device_ends_a_gate_that_still_waits) {
  if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  sync::Pool pool;
  sync::FlagBank flags(pool, 2, "flags");
  const Flag in = flags.make("in"), out = flags.make("out");
  const auto begin = std::chrono::steady_clock::now();
  {
    DeviceOptions options;
    options.wait_deadline = std::chrono::minutes(10);
    auto device = open_opencl_device(0, options);
    if (!device->info().policies.back().passed) GTEST_SKIP() << "skipped: " << device->info().policies.back().reason;
    const auto program = device->prepare({});
    const WaitFor waits[] = {{in, 1}};
    launch_one(*device, *program, waits, {out, 1});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300));
  EXPECT_TRUE(out.failed());
}

}  // namespace
}  // namespace tandem
