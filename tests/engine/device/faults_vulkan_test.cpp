// Vulkan calls that fail. Each ends in the named error. Then the same device, or the device opened again, runs the
// next plan.
#include <vulkan/vulkan.h>

#include "engine/device/vulkan/vulkan_tuning.h"
#include "tests/engine/device/bias_case.h"
#include "tests/engine/device/faults_api.h"
#include "tests/engine/device/faults_support.h"
#include "tests/support/requirements.h"

namespace tandem::testing {
namespace {

using ::testing::HasSubstr;

class VulkanFaults : public ::testing::TestWithParam<FaultyWay> {};

#define OPEN_BENCH(bench)       \
  FaultBench bench(GetParam()); \
  if (!bench.open()) SKIP_FOR_WANT_OF(vulkan, "no Vulkan device")

TEST_P(VulkanFaults, a_device_lost_at_any_call_of_a_run_is_named_and_runs_the_next_plan) {
  OPEN_BENCH(bench);
  int seen = 0;
  for (const char* call : {"vkQueueSubmit", "vkWaitForFences", "vkWaitSemaphores", "vkGetSemaphoreCounterValue"}) {
    for (int skip = 0; skip < 4; ++skip) {
      bench.reopen(GetParam());  // so that the failing run uploads weights (copies)
      bench.prepare();
      std::string error;
      {
        const FailingCall fault(call, VK_ERROR_DEVICE_LOST, skip);
        error = bench.run();
        if (fault.hits() == 0) break;  // this way of running makes no such call
      }
      ++seen;
      EXPECT_THAT(error, HasSubstr(std::string(call) + " failed with VK_ERROR_DEVICE_LOST")) << skip;
      EXPECT_THAT(error, HasSubstr("vulkan:0")) << call << " after " << skip;
      EXPECT_THAT(error, HasSubstr("opened again")) << "what to do";
      EXPECT_TRUE(bench.runs_well()) << call << " after " << skip << ", on the same device";
      bench.reopen(GetParam());
      EXPECT_TRUE(bench.runs_well()) << call << " after " << skip << ", on a new one";
    }
  }
  EXPECT_GT(seen, 0);
}

// The driver reports a timeout, as it does for a shader that hangs.
TEST_P(VulkanFaults, a_program_that_does_not_end_is_named_and_the_next_run_works) {
  OPEN_BENCH(bench);
  ASSERT_TRUE(bench.runs_well());
  const char* call = GetParam().policy == sync::Policy::blocking ? "vkWaitForFences" : "vkWaitSemaphores";
  std::string error;
  {
    const FailingCall never("vkGetSemaphoreCounterValue", VK_NOT_READY, 0, 1 << 30);
    const FailingCall fault(call, VK_TIMEOUT);
    error = bench.run();
    ASSERT_EQ(fault.hits(), 1);
  }
  EXPECT_THAT(error, HasSubstr("did not finish within"));
  EXPECT_THAT(error, Not(HasSubstr("VK_TIMEOUT"))) << "the same words as on every device";
  EXPECT_THAT(error, HasSubstr("blk.0.product"));
  EXPECT_THAT(error, HasSubstr("vulkan:0"));
  EXPECT_TRUE(bench.runs_well());
}

TEST_P(VulkanFaults, a_shader_that_does_not_compile_is_named_and_the_next_one_does) {
  OPEN_BENCH(bench);
  {
    const FailingCall fault("vkCreateComputePipelines", VK_ERROR_UNKNOWN);
    const std::string error = bench.run();
    ASSERT_EQ(fault.hits(), 1);
    EXPECT_THAT(error, HasSubstr("vkCreateComputePipelines failed with VK_ERROR_UNKNOWN"));
    EXPECT_THAT(error, HasSubstr("blk.0.product"));
    EXPECT_THAT(error, HasSubstr("vulkan:0"));
  }
  EXPECT_TRUE(bench.runs_well());
}

TEST_P(VulkanFaults, memory_that_the_device_does_not_have_is_named_and_can_be_had_later) {
  OPEN_BENCH(bench);
  int seen = 0;
  for (int skip = 0; skip < 6; ++skip) {
    bench.reopen(GetParam());
    std::string error;
    {
      const FailingCall fault("vkAllocateMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY, skip);
      error = bench.run();
      if (fault.hits() == 0) break;
    }
    ++seen;
    if (bench.device().info().own_memory && error.empty()) continue;  // it was for weights: host memory works, too
    EXPECT_THAT(error, HasSubstr("vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY")) << skip;
    EXPECT_THAT(error, HasSubstr("out of memory")) << "what to do";
    EXPECT_TRUE(bench.runs_well()) << skip;
  }
  EXPECT_GT(seen, 0);
}

TEST(VulkanListing, that_fails_is_named_where_its_device_is_asked_for) {
  if (vulkan_device_count().all == 0) SKIP_FOR_WANT_OF(vulkan, "no Vulkan device");
  const FailingCall fault("vkEnumeratePhysicalDevices", VK_ERROR_INITIALIZATION_FAILED, 0, 1000);
  EXPECT_THAT(message_of([] { open_device("vulkan:0", {}); }), HasSubstr("VK_ERROR_INITIALIZATION_FAILED"));
}

TEST(VulkanWeights, that_a_card_has_no_room_for_are_the_hosts) {
  if (vulkan_device_count().all == 0) SKIP_FOR_WANT_OF(vulkan, "no Vulkan device");
  sync::Pool pool;
  test::BiasCase bias(pool);
  vulkan::Tuning tuning;
  tuning.cache_folder = "";
  tuning.own_weights = true;
  const auto device = vulkan::open_device_tuned(0, {}, tuning);
  if (!device->info().zero_copy) GTEST_SKIP() << "skipped: memory is not shared at all";
  std::unique_ptr<Program> program;
  {
    const FailingCall full("vkAllocateMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY);
    program = device->prepare(std::span(&bias.op, 1));
    ASSERT_EQ(full.hits(), 1);
  }
  for (const float expected : {2.0f, 101.0f}) {
    launch_one(*device, *program, {}, {});
    device->finish(std::chrono::seconds(60));
    EXPECT_EQ(bias.last(), expected);
    bias.set_weights(99);  // the device sees the value, because it made no copy
  }
}

TEST_P(VulkanFaults, a_slot_larger_than_the_devices_largest_allocation_is_refused_by_name) {
  if (!open_way(GetParam())) SKIP_FOR_WANT_OF(vulkan, "no Vulkan device");
  FaultPlan plan(3);
  std::unique_ptr<Device> device;
  {
    const FailingCall little("vkGetPhysicalDeviceProperties2", 8192, 0, 100);
    device = open_way(GetParam());
  }
  const Operator op = plan.product();  // the weights need more than 8192 bytes
  const Support support = device->supports(op);
  EXPECT_FALSE(support.yes);
  EXPECT_THAT(support.reason, HasSubstr("'weights'"));
  const std::string error = message_of([&] { device->prepare(std::span(&op, 1)); });
  EXPECT_THAT(error, HasSubstr("'weights'"));
  EXPECT_THAT(error, HasSubstr("largest allocation of 8192 bytes"));
}

INSTANTIATE_TEST_SUITE_P(Ways, VulkanFaults,
                         ::testing::Values(FaultyWay{"timeline", "vulkan"},
                                           FaultyWay{"fence", "vulkan", sync::Policy::blocking},
                                           FaultyWay{"copies", "vulkan", sync::Policy::predict, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tandem::testing
