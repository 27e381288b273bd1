// Command buffers, fences and semaphores that the device still uses outlive their owners, with both ways of submitting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/engine/device/vulkan/lifetime_api.h"
#include "tests/engine/device/vulkan/vulkan_test.h"

namespace tandem::vulkan {
namespace {

struct Way {
  sync::Policy policy;
  bool older_calls;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << name_of(way.policy) << (way.older_calls ? "_older_calls" : "");
}

class VulkanLifetimes : public VulkanTest, public ::testing::WithParamInterface<Way> {
 protected:
  void SetUp() override {
    VulkanTest::SetUp();
    testing::take_early_ends();
  }
  void TearDown() override {
    VulkanTest::TearDown();
    for (const std::string& what : testing::take_early_ends()) ADD_FAILURE() << what;
  }
  void open_way(std::chrono::milliseconds wait_deadline = kDeadline) {
    DeviceOptions options;
    options.wait_deadline = wait_deadline;
    options.sync_policy = GetParam().policy;
    Tuning tuning;
    tuning.older_calls = GetParam().older_calls;
    device_ = open(options, tuning);
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, VulkanLifetimes,
                         ::testing::Values(Way{sync::Policy::predict, false}, Way{sync::Policy::blocking, false},
                                           Way{sync::Policy::predict, true}, Way{sync::Policy::blocking, true}),
                         [](const auto& info) { return ::testing::PrintToString(info.param); });

// Opening a device tries every waiting policy with a probe of its own. The probe is destroyed as soon as the host has
// seen its last step.
TEST_P(VulkanLifetimes, reach_beyond_the_end_of_what_was_submitted_when_a_device_is_opened_used_and_closed) {
  const size_t before = testing::submissions();
  open_way();
  const size_t opened = testing::submissions();
  EXPECT_GT(opened, before) << "no submission was seen";
  const AddCase test(pool_, 3, 50);
  const Operator op = test.as_operator();
  const auto program = device_->prepare(std::span(&op, 1));
  for (int i = 0; i < 3; ++i) launch_one(*device_, *program, {}, {});
  device_->finish(kDeadline);
  EXPECT_GE(testing::submissions(), opened + 3);
  EXPECT_TRUE(test.all_are(3));
}

TEST_P(VulkanLifetimes, of_commands_reach_to_the_end_of_a_program_that_its_owner_drops_while_it_runs) {
  open_way();
  const AddCase test(pool_, 3, 50);
  const Operator op = test.as_operator();
  auto program = device_->prepare(std::span(&op, 1));
  const size_t before = testing::submissions();
  {
    const testing::HeldEnds held;
    launch_one(*device_, *program, {}, {});
    const auto give_up = std::chrono::steady_clock::now() + kDeadline;
    while (testing::submissions() == before && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
    ASSERT_GT(testing::submissions(), before) << "it was not submitted";
    program.reset();
    EXPECT_TRUE(testing::take_early_ends().empty()) << "it went with its owner";
  }
  device_->finish(kDeadline);
  EXPECT_TRUE(test.all_are(1));
}

TEST_P(VulkanLifetimes, of_commands_reach_to_the_end_of_a_program_that_missed_its_deadline) {
  open_way(std::chrono::milliseconds(50));
  const AddCase test(pool_, 3, 50);
  const Operator op = test.as_operator("blk.7.test");
  auto program = device_->prepare(std::span(&op, 1));
  const sync::Flag flag = flags_.make("awaited");
  {
    const testing::HeldEnds held;
    launch_one(*device_, *program, {}, {flag, 1});
    const auto give_up = std::chrono::steady_clock::now() + kDeadline;
    while (!flag.failed() && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
    EXPECT_THAT(flag.failure(), ::testing::HasSubstr("blk.7.test")) << "who waits for it is told at once";
    program.reset();
    std::this_thread::sleep_for(
        std::chrono::milliseconds(200));  // the test proves no less if the launcher gets no core meanwhile
    EXPECT_TRUE(testing::take_early_ends().empty()) << "it was let go while it may run";
  }
  EXPECT_THAT(message_of([&] { device_->finish(kDeadline); }), ::testing::HasSubstr("blk.7.test"));
}

}  // namespace
}  // namespace tandem::vulkan
