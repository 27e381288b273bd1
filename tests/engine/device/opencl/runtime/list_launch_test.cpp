// Batches of one-token programs, which run as one list kernel, mixed with other programs.
#include <gtest/gtest.h>

#include <thread>

#include "engine/device/lab/lab.h"
#include "engine/device/opencl/opencl_tuning.h"
#include "sync/cycle_clock.h"
#include "sync/error.h"
#include "sync/waiter.h"
#include "tests/engine/device/opencl/runtime/list_fixture.h"
#include "tests/engine/device/opencl/runtime/weights.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using test::MatMulCase;

class ListLaunching : public test::ListFixture, public testing::Test {
 protected:
  void SetUp() override {
    if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
    DeviceOptions options;
    options.gpu_family = KernelFamily::simd;
    device_ = open_opencl_device(0, options);
  }
};

TEST_F(ListLaunching, a_long_batch_runs_every_program_in_order_also_between_programs_that_are_launched_singly) {
  const Operator one = add(1), three = add(3);
  const auto listed = device_->prepare(std::span(&one, 1)), launched = device_->prepare(std::span(&three, 1));
  constexpr int kPrograms = 5000;
  std::vector<PlannedLaunch> launches;
  int expected_first = 0, expected_third = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const bool many = i % 1000 == 999;
    launches.push_back({many ? launched.get() : listed.get(), {}, {}});
    ++expected_first;
    expected_third += many;
  }
  launches.push_back({listed.get(), {}, {out_, 1}});
  device_->launch(make_sequence(*device_, std::move(launches)), 0);
  device_->finish(kDeadline);
  EXPECT_TRUE(out_.reached(1));
  EXPECT_EQ(x_.as<float>()[0], static_cast<float>(expected_first + 1));
  EXPECT_EQ(x_.as<float>()[2 * 64], static_cast<float>(expected_third));
  EXPECT_EQ(x_.as<float>()[3 * 64], 0.0f) << "a fourth token was not asked for";
}

TEST_F(ListLaunching, a_wait_in_the_middle_of_a_batch_holds_back_what_follows_it_and_nothing_before_it) {
  const Operator one = add(1);
  const auto program = device_->prepare(std::span(&one, 1));
  device_->launch(make_sequence(*device_, {{program.get(), {}, {out_, 1}}, {program.get(), {{in_, 1}}, {out_, 2}}}), 0);
  sync::WaitContext context;
  context.step = "first", context.device = "opencl:0", context.deadline = kDeadline;
  sync::make_waiter(sync::Policy::blocking)->wait(out_, 1, context);
  EXPECT_FALSE(out_.reached(2));
  EXPECT_EQ(x_.as<float>()[5], 1.0f);
  in_.raise(1);
  sync::make_waiter(sync::Policy::blocking)->wait(out_, 2, context);
  EXPECT_EQ(x_.as<float>()[5], 2.0f);
  device_->finish(kDeadline);
}

TEST_F(ListLaunching, gives_the_same_bits_while_spans_are_recorded) {
  MatMulCase matmul(StorageType::q4_k, 1, 128, 256);
  const Operator op = matmul.as_operator("blk.0.test");
  const auto program = device_->prepare(std::span(&op, 1));
  for (bool recording : {false, true, false}) {
    lab_of(*device_).record_spans(recording);
    launch_listed(*program, {}, {});
    device_->finish(kDeadline);
    EXPECT_TRUE(matmul.correct());
    EXPECT_EQ(lab_of(*device_).take_spans().size(), recording ? 1u : 0u);
  }
}

TEST_F(ListLaunching, a_kernel_that_raises_a_signal_twice_fails_the_flag) {
  const Operator one = add(1);
  const auto program = device_->prepare(std::span(&one, 1));
  uint32_t epoch = 0;
  for (const bool listed : {true, false}) {
    ++epoch;
    for (int i = 0; i < 2; ++i) {
      listed ? launch_listed(*program, {}, {out_, epoch}) : launch_one(*device_, *program, {}, {out_, epoch});
    }
    device_->finish(kDeadline);
    EXPECT_TRUE(out_.failed());
    EXPECT_NE(out_.failure().find("twice"), std::string::npos) << out_.failure();
    EXPECT_EQ(out_.epoch(), epoch);
    out_.clear_failure();
  }
}

// Lists on a device with one worker. They stamp their own times if the processor's counter can be read.
class StampedListLaunching : public ListLaunching {
 protected:
  void SetUp() override {
    ListLaunching::SetUp();
    if (IsSkipped()) return;
    if (!sync::cycle_counter_usable()) GTEST_SKIP() << "skipped: the processor's counter is none to measure with";
    DeviceOptions options;
    options.gpu_family = KernelFamily::simd;
    options.gpu_cores = {0};
    device_.reset();
    device_ = open_opencl_device(0, options);
    if (device_->info().compute_units != 1) GTEST_SKIP() << "skipped: the driver has more than one worker";
  }
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
};

TEST_F(StampedListLaunching, give_a_span_for_each_operator_of_each_program_on_the_steady_clock) {
  constexpr double kClockError = 1e-4;
  const Operator one = add(1);
  const auto two = device_->prepare(std::vector<Operator>{one, one}), last = device_->prepare(std::span(&one, 1));
  lab_of(*device_).record_spans(true);
  const double before = now();
  device_->launch(make_sequence(*device_, {{two.get(), {}, {}}, {last.get(), {{in_, 1}}, {out_, 1}}}), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  const double raised = now();
  in_.raise(1);
  device_->finish(kDeadline);
  const double after = now();
  const auto spans = lab_of(*device_).take_spans();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_TRUE(lab_of(*device_).take_spans().empty()) << "taken once";
  const Program* const programs[] = {two.get(), two.get(), last.get()};
  const int operators[] = {0, 1, 0};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(spans[i].program, programs[i]);
    EXPECT_EQ(spans[i].op, operators[i]);
    EXPECT_FALSE(spans[i].alone) << "it ran as part of the list";
    EXPECT_LT(spans[i].start_seconds, spans[i].end_seconds);
  }
  EXPECT_GE(spans[0].start_seconds, before - kClockError);
  EXPECT_EQ(spans[0].end_seconds, spans[1].start_seconds);
  EXPECT_GE(spans[2].start_seconds, raised - kClockError) << "waiting is no work";
  EXPECT_LE(spans[2].end_seconds, after + kClockError);
  EXPECT_EQ(x_.as<float>()[0], 3.0f);
}

TEST_F(StampedListLaunching, become_single_launches_that_say_so_where_the_counter_cannot_be_read) {
  DeviceOptions options;
  options.gpu_family = KernelFamily::simd;
  options.gpu_cores = {0};
  opencl::Tuning tuning;
  tuning.lists_may_stamp = false;
  device_.reset();
  device_ = opencl::open_device_tuned(0, options, tuning);
  const Operator one = add(1);
  const auto program = device_->prepare(std::vector<Operator>{one, one});
  for (const bool recording : {true, false}) {
    lab_of(*device_).record_spans(recording);
    launch_listed(*program, {}, {});
    device_->finish(kDeadline);
    const auto spans = lab_of(*device_).take_spans();
    ASSERT_EQ(spans.size(), recording ? 2u : 0u);
    for (size_t i = 0; i < spans.size(); ++i) {
      EXPECT_EQ(spans[i].op, static_cast<int>(i));
      EXPECT_TRUE(spans[i].alone);
    }
  }
  EXPECT_EQ(x_.as<float>()[0], 4.0f);
}

TEST_F(StampedListLaunching, lose_no_span_of_a_long_batch) {
  const Operator one = add(1);
  const auto program = device_->prepare(std::span(&one, 1));
  constexpr int kPrograms = 9000;
  for (const int round : {1, 2}) {
    lab_of(*device_).record_spans(true);
    device_->launch(make_sequence(*device_, std::vector<PlannedLaunch>(kPrograms, {program.get(), {}, {}})), 0);
    device_->finish(kDeadline);
    const auto spans = lab_of(*device_).take_spans();
    ASSERT_EQ(spans.size(), static_cast<size_t>(kPrograms));
    for (size_t i = 1; i < spans.size(); ++i) ASSERT_GE(spans[i].start_seconds, spans[i - 1].end_seconds) << i;
    EXPECT_EQ(x_.as<float>()[0], static_cast<float>(round * kPrograms));
  }
  lab_of(*device_).record_spans(false);
  launch_one(*device_, *program, {}, {});
  device_->finish(kDeadline);
  EXPECT_TRUE(lab_of(*device_).take_spans().empty());
}

TEST_F(StampedListLaunching, give_no_spans_of_a_list_whose_device_failed_and_those_of_the_next) {
  const Operator one = add(1);
  const auto program = device_->prepare(std::span(&one, 1));
  lab_of(*device_).record_spans(true);
  launch_listed(*program, {{in_, 1}}, {out_, 1});
  in_.fail("a test");
  EXPECT_THROW(device_->finish(kDeadline), Error);
  EXPECT_TRUE(lab_of(*device_).take_spans().empty());
  in_.clear_failure();
  out_.clear_failure();
  in_.raise(1);
  launch_listed(*program, {{in_, 1}}, {out_, 2});
  device_->finish(kDeadline);
  EXPECT_EQ(lab_of(*device_).take_spans().size(), 1u);
  EXPECT_EQ(x_.as<float>()[0], 1.0f) << "the failed one did nothing";
}

// The same lists on a kernel that stays between lists.
class ListDoorbellLaunching : public test::ListFixture, public testing::Test {
 protected:
  void SetUp() override { open_on_one_core(sync::Policy::doorbell); }
  void run(Program& program, uint32_t epoch) { launch_listed(program, {}, {out_, epoch}); }
};

TEST_F(ListDoorbellLaunching, runs_every_list_once_whether_the_kernel_is_still_there_or_has_gone) {
  const Operator one = add(1);
  const auto program = device_->prepare(std::span(&one, 1));
  uint32_t epoch = 0;
  for (int pause_us : {0, 0, 0, 100, 1000, 1900, 2000, 2100, 5000}) {
    for (int i = 0; i < 20; ++i) {
      run(*program, ++epoch);
      sync::make_waiter(sync::Policy::doorbell)->wait(out_, epoch, context_);
      ASSERT_EQ(x_.as<float>()[0], static_cast<float>(epoch));
      std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    }
  }
  // On a busy core the kernel may end each time before the next list arrives. So the test tries more often, without
  // a pause.
  for (int i = 0; i < 5000 && opencl::posted_lists(*device_) == 0; ++i) {
    run(*program, ++epoch);
    sync::make_waiter(sync::Policy::doorbell)->wait(out_, epoch, context_);
  }
  device_->finish(kDeadline);
  EXPECT_EQ(x_.as<float>()[0], static_cast<float>(epoch));
  EXPECT_GT(opencl::posted_lists(*device_), 0u) << "every list was launched: no kernel stayed";
  EXPECT_LT(opencl::posted_lists(*device_), epoch) << "no kernel ever left";
}

TEST_F(ListDoorbellLaunching, keeps_the_order_of_lists_handed_over_while_it_works) {
  const Operator one = add(1), three = add(3);
  const auto program = device_->prepare(std::span(&one, 1)), launched = device_->prepare(std::span(&three, 1));
  uint32_t epoch = 0;
  for (int i = 0; i < 200; ++i) {
    run(*program, ++epoch);
    if (i % 10 == 3) run(*launched, ++epoch);  // no list: it ends the kernel that stays
    if (i % 50 == 7) device_->finish(kDeadline);
  }
  sync::make_waiter(sync::Policy::doorbell)->wait(out_, epoch, context_);
  EXPECT_EQ(x_.as<float>()[0], static_cast<float>(epoch));
  device_->finish(kDeadline);
}

TEST_F(ListDoorbellLaunching, passes_a_failure_on_and_works_again_afterwards) {
  const Operator one = add(1);
  const auto program = device_->prepare(std::span(&one, 1));
  run(*program, 1);
  sync::make_waiter(sync::Policy::doorbell)->wait(out_, 1, context_);
  launch_listed(*program, {{in_, 1}}, {out_, 2});
  in_.fail("the other device has gone");
  EXPECT_THROW(sync::make_waiter(sync::Policy::doorbell)->wait(out_, 2, context_), Error);
  EXPECT_THROW(device_->finish(kDeadline), Error);
  in_.clear_failure();
  out_.clear_failure();
  for (uint32_t epoch = 3; epoch < 6; ++epoch) {
    run(*program, epoch);
    sync::make_waiter(sync::Policy::doorbell)->wait(out_, epoch, context_);
  }
  EXPECT_EQ(x_.as<float>()[0], 4.0f) << "the failed pass did not run, the others did once";
  device_->finish(kDeadline);
}

}  // namespace
}  // namespace tandem
