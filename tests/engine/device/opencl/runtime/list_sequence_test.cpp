// A sequence of one-token programs that is built once and launched repeatedly, each time with another base.
#include <gtest/gtest.h>

#include "engine/device/lab/lab.h"
#include "sync/error.h"
#include "sync/waiter.h"
#include "tests/engine/device/opencl/runtime/list_fixture.h"
#include "tests/engine/device/opencl/runtime/weights.h"

namespace tandem {
namespace {

class ListSequence : public test::ListFixture, public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { open_on_one_core(sync::policy_named(GetParam())); }
  std::unique_ptr<Program> prepared_add(int64_t tokens) {
    const Operator op = add(tokens);
    return device_->prepare(std::span(&op, 1));
  }
  // Raises out to base + 1, waits until in reaches base + 2, and raises out to base + 3.
  std::vector<PlannedLaunch> two_steps(Program& program) const {
    return {{&program, {}, {out_, 1}}, {&program, {{in_, 2}}, {out_, 3}}};
  }
  void wait(uint32_t epoch) { sync::make_waiter(sync::Policy::spin)->wait(out_, epoch, context_); }
};

TEST_P(ListSequence, counts_its_epochs_from_the_base_of_each_launch_and_reads_what_memory_holds_then) {
  const auto program = prepared_add(1);
  const auto sequence = make_sequence(*device_, two_steps(*program));
  float expected = 0;
  for (uint32_t base = 100; base < 400; base += 10) {
    const float value = static_cast<float>(base);
    y_.as<float>()[7] = value;
    device_->launch(sequence, base);
    wait(base + 1);
    EXPECT_EQ(x_.as<float>()[7], expected + value);
    EXPECT_EQ(out_.epoch(), base + 1) << "the second step waits for this run's signal, not for the last one's";
    in_.raise(base + 2);
    wait(base + 3);
    expected += 2 * value;
    EXPECT_EQ(x_.as<float>()[7], expected);
  }
  device_->finish(kDeadline);
}

TEST_P(ListSequence, can_be_launched_again_before_it_has_ended_and_in_turn_with_another_one) {
  const auto one = prepared_add(1), both = prepared_add(2);
  const auto first = make_sequence(*device_, two_steps(*one)), second = make_sequence(*device_, two_steps(*both));
  for (uint32_t base = 0; base < 60; base += 10) device_->launch(base % 20 == 0 ? first : second, base);
  for (uint32_t base = 0; base < 60; base += 10) {
    wait(base + 1);
    EXPECT_EQ(out_.epoch(), base + 1);
    in_.raise(base + 2);
    wait(base + 3);
  }
  device_->finish(kDeadline);
  EXPECT_EQ(x_.as<float>()[0], 12.0f) << "six runs of two steps";
  EXPECT_EQ(x_.as<float>()[64], 6.0f) << "the second token is of every other run";
}

TEST_P(ListSequence, outlives_its_owner_until_it_has_run) {
  const Operator elsewhere{"add", Add{1, 64, {&x_, 256}, {&y_, 0}, 64, 64}};
  auto program = prepared_add(1);
  const auto other = device_->prepare(std::span(&elsewhere, 1));
  auto sequence = make_sequence(*device_, {{program.get(), {{in_, 1}}, {out_, 1}}});
  device_->launch(sequence, 0);
  sequence.reset();
  program.reset();
  const auto next =
      make_sequence(*device_, {{other.get(), {{in_, 1}}, {out_, 1}}});  // as large as the memory of the first one
  in_.raise(1);
  wait(1);
  device_->finish(kDeadline);
  EXPECT_EQ(x_.as<float>()[0], 1.0f);
  EXPECT_EQ(x_.as<float>()[64], 0.0f) << "the other one was never launched";
}

// There are more lists than the device remembers by the names of their waits. The memory of an unfinished list must
// stay for the list's own sake.
TEST_P(ListSequence, is_kept_until_it_has_run_however_many_are_launched_behind_it) {
  const Operator elsewhere{"add", Add{1, 64, {&x_, 256}, {&y_, 0}, 64, 64}};
  const auto program = prepared_add(1), other = device_->prepare(std::span(&elsewhere, 1));
  // Waits, then adds. The owner of the sequence is destroyed immediately.
  const auto launch = [&](Program& what, uint32_t epoch) {
    device_->launch(make_sequence(*device_, {{&what, {{in_, 1}}, {out_, epoch}}}), 0);
  };
  constexpr uint32_t kLists = 40;
  for (uint32_t epoch = 1; epoch <= kLists; ++epoch) launch(epoch % 2 == 1 ? *program : *other, epoch);
  in_.raise(1);
  wait(kLists);
  device_->finish(kDeadline);
  EXPECT_EQ(x_.as<float>()[0], kLists / 2) << "each of the first program's";
  EXPECT_EQ(x_.as<float>()[64], kLists / 2) << "each of the other's";
}

TEST_P(ListSequence, names_the_awaited_flag_and_epoch_of_a_run_that_failed_and_runs_again) {
  const auto program = prepared_add(1);
  const auto sequence = make_sequence(*device_, two_steps(*program));
  device_->launch(sequence, 40);
  wait(41);
  in_.fail("the other device has gone");
  try {
    device_->finish(kDeadline);
    ADD_FAILURE() << "the failure was not thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("flag 'in', wanted epoch 42"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(out_.failed());
  // A list leaves out the step behind the failed wait. With several workers there is no list: kernels queued behind a
  // gate run whatever the gate saw, and their flag has failed.
  const float ran = device_->info().compute_units == 1 ? 1.0f : 2.0f;
  EXPECT_EQ(x_.as<float>()[0], ran);
  in_.clear_failure();
  out_.clear_failure();
  in_.raise(52);
  device_->launch(sequence, 50);
  wait(53);
  device_->finish(kDeadline);
  EXPECT_EQ(x_.as<float>()[0], ran + 2.0f);
}

TEST_P(ListSequence, gives_the_same_result_and_its_spans_while_it_is_recorded) {
  const auto program = prepared_add(1);
  const auto sequence = make_sequence(*device_, {{program.get(), {}, {}}, {program.get(), {}, {out_, 1}}});
  uint32_t base = 0;
  for (const bool recording : {false, true, false, true}) {
    lab_of(*device_).record_spans(recording);
    device_->launch(sequence, ++base);
    device_->finish(kDeadline);
    EXPECT_EQ(x_.as<float>()[0], 2.0f * static_cast<float>(base));
    EXPECT_EQ(lab_of(*device_).take_spans().size(), recording ? 2u : 0u);
  }
}

TEST_P(ListSequence, with_a_program_of_several_tokens_runs_as_single_launches_do) {
  const auto one = prepared_add(1), three = prepared_add(3);
  const auto sequence =
      make_sequence(*device_, {{one.get(), {}, {}}, {three.get(), {}, {}}, {one.get(), {}, {out_, 2}}});
  for (uint32_t run = 1; run <= 3; ++run) {
    device_->launch(sequence, run * 10);
    wait(run * 10 + 2);
    EXPECT_EQ(x_.as<float>()[0], 3.0f * static_cast<float>(run));
    EXPECT_EQ(x_.as<float>()[2 * 64], 1.0f * static_cast<float>(run));
  }
  device_->finish(kDeadline);
}

INSTANTIATE_TEST_SUITE_P(Policies, ListSequence, testing::Values("predict", "doorbell"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tandem
