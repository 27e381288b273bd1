// A device lost at a submission, with both ways of submitting. The error names the call, and the next run works.
#include <gmock/gmock.h>
#include <vulkan/vulkan.h>

#include "tests/engine/device/faults_api.h"
#include "tests/engine/device/vulkan/vulkan_test.h"

namespace tandem::vulkan {
namespace {

using ::testing::HasSubstr;

class VulkanSubmission : public VulkanTest, public ::testing::WithParamInterface<bool> {};

TEST_P(VulkanSubmission, that_fails_is_named_and_the_next_run_works) {
  Tuning tuning;
  tuning.older_calls = GetParam();
  const std::string call = GetParam() ? "vkQueueSubmit" : "vkQueueSubmit2";
  device_ = open({}, tuning);
  if (!device_->info().policies[0].reason.ends_with(call)) GTEST_SKIP() << "skipped: this device has no " << call;
  const AddCase test(pool_, 3, 50);
  const Operator op = test.as_operator("blk.7.test");
  const auto program = device_->prepare(std::span(&op, 1));
  std::string message;
  {
    const testing::FailingCall fault(call, VK_ERROR_DEVICE_LOST);
    launch_one(*device_, *program, {}, {});
    message = message_of([&] { device_->finish(kDeadline); });
    ASSERT_EQ(fault.hits(), 1);
  }
  EXPECT_THAT(message, HasSubstr(call + " failed with VK_ERROR_DEVICE_LOST"));
  EXPECT_THAT(message, HasSubstr("blk.7.test"));
  EXPECT_TRUE(test.all_are(0));
  launch_one(*device_, *program, {}, {});
  device_->finish(kDeadline);
  EXPECT_TRUE(test.all_are(1));
}

INSTANTIATE_TEST_SUITE_P(Ways, VulkanSubmission, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "older_calls" : "synchronization2"; });

}  // namespace
}  // namespace tandem::vulkan
