// Names of devices and their parameters, also for devices that are registered beside the engine's own.
#include "engine/device/device_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/registry.h"
#include "sync/error.h"
#include "tests/engine/device/driver_faults.h"

namespace tandem {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(DeviceRange, names_its_devices_one_by_one) {
  EXPECT_THAT(devices_of_range("ndp:0-3"), ::testing::ElementsAre("ndp:0", "ndp:1", "ndp:2", "ndp:3"));
  EXPECT_THAT(devices_of_range("ndp:2-3?gib=32&gbps=50"),
              ::testing::ElementsAre("ndp:2?gib=32&gbps=50", "ndp:3?gib=32&gbps=50"));
  EXPECT_THAT(devices_of_range("ndp:5-5"), ::testing::ElementsAre("ndp:5"));
  for (const char* no_range : {"ndp:0", "host", "npu:0?params=a-b", "ndp:3-1", "ndp:-3", "ndp:0-", "ndp:0-999", "-", "",
                               "a-b", "ndp:x-2", "ndp:0-1-2"})
    EXPECT_THAT(devices_of_range(no_range), ::testing::ElementsAre(no_range));
}

TEST(DeviceId, is_a_prefix_a_number_and_parameters) {
  const auto plain = parse_device_id("host"), numbered = parse_device_id("opencl:12");
  ASSERT_TRUE(plain && numbered);
  EXPECT_EQ(plain->prefix, "host");
  EXPECT_EQ(plain->index, 0);
  EXPECT_TRUE(plain->parameters.empty());
  EXPECT_EQ(numbered->prefix, "opencl");
  EXPECT_EQ(numbered->index, 12);
  const auto told = parse_device_id("slow:1?delay_us=100&path=a:b?c=d");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->index, 1);
  EXPECT_EQ(told->parameters, (DeviceParameters{{"delay_us", "100"}, {"path", "a:b?c=d"}}));
  EXPECT_EQ(to_string(told->parameters), "delay_us=100&path=a:b?c=d");
  EXPECT_EQ(parse_device_id("npu?params=")->parameters, (DeviceParameters{{"params", ""}}));
}

TEST(DeviceId, is_refused_where_a_part_is_missing_or_is_none) {
  for (const char* text : {"", ":0", "0", "npu:", "npu:x", "npu:-1", "npu:-0", "npu:0x", "npu:12345", "NPU:0", "npu 0",
                           "npu:0?", "?a=b", "npu:0?=b", "npu:0?a=1&a=2", "npu:0?&a=1"})
    EXPECT_FALSE(parse_device_id(text)) << text;
}

TEST(Registry, knows_the_kind_of_a_device_before_it_is_opened) {
  EXPECT_EQ(device_kind("host"), DeviceKind::host);
  EXPECT_EQ(device_kind("npu:0?params=x"), DeviceKind::npu);
  EXPECT_EQ(device_kind("vulkan:3"), DeviceKind::gpu);
  EXPECT_EQ(device_kind("slow"), DeviceKind::npu);
  EXPECT_THROW(device_kind("abacus"), Error);
  EXPECT_THROW(device_kind("host?speed=1"), Error);
  EXPECT_EQ(first_device(DeviceKind::npu), "npu:0") << "what was added comes behind the engine's own";
  EXPECT_EQ(first_device(DeviceKind::host), "host");
}

TEST(Registry, opens_what_was_added_and_tells_it_its_parameters) {
  EXPECT_THAT(available_devices(), Contains("slow:0"));
  EXPECT_EQ(open_device("slow:0", {})->info().parameters, "");
  const auto slow = open_device("slow:0?delay_us=100", {});
  EXPECT_EQ(slow->info().id, "slow:0");
  EXPECT_EQ(slow->info().parameters, "delay_us=100");
}

TEST(Registry, refuses_a_parameter_that_the_device_does_not_know_and_names_those_it_does) {
  EXPECT_THAT([] { open_device("slow:0?speed=1", {}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("speed of slow"), HasSubstr("delay_us"))));
  EXPECT_THAT([] { open_device("host?speed=1", {}); }, ThrowsMessage<Error>(HasSubstr("it knows: none")));
  EXPECT_THAT([] { open_device("npu:0?params=/no/such/file", {}); }, ThrowsMessage<Error>(HasSubstr("/no/such/file")));
}

TEST(Registry, has_gpus_share_no_memory_where_copies_are_asked_for) {
  for (const std::string& id : available_devices()) {
    if (device_kind(id) != DeviceKind::gpu) continue;
    const auto copies = open_device(id + "?copies=1", {});
    EXPECT_FALSE(copies->info().zero_copy) << id;
    EXPECT_THAT(copies->info().zero_copy_note, HasSubstr("asked for"));
    EXPECT_EQ(open_device(id + "?copies=0", {})->info().zero_copy, open_device(id, {})->info().zero_copy) << id;
    EXPECT_THAT([&] { open_device(id + "?copies=yes", {}); },
                ThrowsMessage<Error>(AllOf(HasSubstr("'yes'"), HasSubstr("0 or 1"))));
  }
}

TEST(Registry, puts_the_host_on_the_thread_of_any_device_that_shares_it) {
  const auto slow = open_device("slow:0", {});
  ASSERT_TRUE(slow->info().shares_thread);
  EXPECT_EQ(open_host_on(*slow, {})->info().thread_of, "slow:0");
  for (const std::string& id : available_devices()) {
    if (device_kind(id) != DeviceKind::gpu) continue;
    const auto gpu = open_device(id, {});
    EXPECT_FALSE(gpu->info().shares_thread);
    EXPECT_THAT([&] { open_host_on(*gpu, {}); }, ThrowsMessage<Error>(HasSubstr("no thread to share")));
  }
}

TEST(DriverFaults, leave_out_kernels_with_barriers_of_new_versions_of_pocl_alone) {
  const auto miscompiled = [](const char* driver, const char* family) {
    return !testing::miscompiled_by(driver, family).empty();
  };
  EXPECT_TRUE(miscompiled("Portable Computing Language 5.0+debian", "simt"));
  EXPECT_TRUE(miscompiled("Portable Computing Language 6.0+debian", "simt"));
  EXPECT_TRUE(miscompiled("Portable Computing Language 10.1", "simt"));
  EXPECT_FALSE(miscompiled("Portable Computing Language 6.0+debian", "simd"));
  EXPECT_FALSE(miscompiled("Portable Computing Language 3.1+debian", "simt"));
  EXPECT_FALSE(miscompiled("NVIDIA CUDA 580.159.04", "simt"));
  EXPECT_FALSE(miscompiled("Intel(R) OpenCL 2026.21.4", "simt"));
}

}  // namespace
}  // namespace tandem
