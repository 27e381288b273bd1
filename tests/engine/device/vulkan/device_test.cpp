// A Vulkan device's report about itself, its refusals, and the places where its operands may lie.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "engine/device/lab/lab.h"
#include "engine/device/vulkan/commands.h"
#include "engine/device/vulkan/memory.h"
#include "engine/device/vulkan/self_test.h"
#include "engine/tensor/types.h"
#include "tests/engine/device/vulkan/vulkan_test.h"

namespace tandem::vulkan {
namespace {

using ::testing::HasSubstr;

class VulkanDeviceTest : public VulkanTest {
 protected:
  void run(const Operator& op) {
    const auto program = device_->prepare(std::span(&op, 1));
    launch_one(*device_, *program, {}, {});
    device_->finish(kDeadline);
  }
};

TEST_F(VulkanDeviceTest, reports_what_it_proved_at_start) {
  device_ = open();
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.id, "vulkan:0");
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.driver.empty());
  EXPECT_FALSE(info.zero_copy_note.empty());
  EXPECT_GT(info.max_allocation_bytes, 0);
  EXPECT_GE(info.compute_units, 1);
  ASSERT_FALSE(info.policies.empty());
  EXPECT_EQ(info.policies[0].policy, sync::Policy::blocking);
  EXPECT_TRUE(info.policies[0].passed) << info.policies[0].reason;
  for (const PolicyTest& test : info.policies) EXPECT_FALSE(test.reason.empty()) << name_of(test.policy);
}

TEST_F(VulkanDeviceTest, says_by_which_calls_it_submits) {
  Tuning older;
  older.older_calls = true;
  EXPECT_THAT(open({}, older)->info().policies[0].reason, ::testing::EndsWith("submitted by vkQueueSubmit"));
  device_ = open();
  const std::string& name = device_->info().name;
  if (!name.starts_with("llvmpipe") && !name.starts_with("SwiftShader"))
    GTEST_SKIP() << "skipped: neither lavapipe nor SwiftShader, which have both ways";
  EXPECT_THAT(device_->info().policies[0].reason, ::testing::EndsWith("submitted by vkQueueSubmit2"));
}

TEST_F(VulkanDeviceTest, an_index_that_is_not_there_says_how_many_are) {
  const std::string message = message_of([] { open_vulkan_device(99, {}); });
  EXPECT_THAT(message, HasSubstr("vulkan:99"));
  EXPECT_THAT(message, HasSubstr(std::to_string(vulkan_device_count().all)));
}

TEST_F(VulkanDeviceTest, the_kernel_family_can_be_chosen) {
  DeviceOptions options;
  options.gpu_family = KernelFamily::simt;
  EXPECT_EQ(open(options)->info().family, KernelFamily::simt);
}

TEST_F(VulkanDeviceTest, is_watched_by_the_validation_layers) {
  if (!validation_layers_present()) GTEST_SKIP() << "skipped: no validation layers";
  Messages messages;
  {
    const Handle handle(0, {}, &messages);
    auto info = typed<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;  // zero bytes: an error that drivers accept
    VkBuffer buffer = VK_NULL_HANDLE;
    if (vkCreateBuffer(handle.device(), &info, nullptr, &buffer) == VK_SUCCESS)
      vkDestroyBuffer(handle.device(), buffer, nullptr);
  }
  EXPECT_FALSE(messages.take().empty());
}

TEST_F(VulkanDeviceTest, is_watched_for_missing_barriers) {
  if (!validation_layers_present()) GTEST_SKIP() << "skipped: no validation layers";
  for (const bool older_calls : {false, true}) {
    for (const bool barrier : {false, true}) {
      Messages messages;
      {
        Handle handle(0, {}, &messages, older_calls);
        const Allocation target = allocate_device(handle, 256, "target");
        run_now(handle, "two fills", kDeadline, [&](VkCommandBuffer commands) {
          vkCmdFillBuffer(commands, target.buffer.get(), 0, VK_WHOLE_SIZE, 1);
          if (barrier) handle.synchronization().barrier(commands, kTransfers, kTransfers);
          vkCmdFillBuffer(commands, target.buffer.get(), 0, VK_WHOLE_SIZE, 2);
        });
      }
      const std::vector<std::string> said = messages.take();
      if (barrier)
        EXPECT_THAT(said, ::testing::IsEmpty());
      else
        EXPECT_THAT(said, ::testing::ElementsAre(HasSubstr("WRITE_AFTER_WRITE")));
    }
  }
}

TEST_F(VulkanDeviceTest, finds_the_loop_limit_of_lavapipe_and_none_elsewhere) {
  device_ = open();
  const std::string driver = device_->info().driver;
  const bool limited = driver.starts_with("llvmpipe Mesa 22."), free = driver.starts_with("llvmpipe Mesa 25.");
  if (driver.starts_with("llvmpipe") && !limited && !free)
    GTEST_SKIP() << "skipped: whether " << driver << " ends loops was not looked into";
  Handle handle(0, {}, nullptr);
  Pipelines pipelines(handle, PipelineFile("", {}));
  EXPECT_EQ(find_loop_budget(handle, pipelines), limited ? 65535 : 0);
}

TEST_F(VulkanDeviceTest, imports_in_place_only_what_is_aligned) {
  Handle handle(0, {}, nullptr);
  if (handle.limits().import_alignment <= 1) GTEST_SKIP() << "skipped: no imports here";
  sync::Slot& slot = pool_.acquire(8192, sync::SlotUse::activations, "page");
  EXPECT_NO_THROW(import_host(handle, slot.data(), 4096, "aligned"));
  EXPECT_THROW(import_host(handle, slot.data() + 64, 4096, "pointer"), Error);
  EXPECT_THROW(import_host(handle, slot.data(), 4000, "size"), Error);
}

// A binding reaches maxStorageBufferRange bytes, which are 128 MiB on lavapipe.
TEST_F(VulkanDeviceTest, reaches_operands_far_into_a_slot_that_is_longer_than_a_binding) {
  const Handle handle(0, {}, nullptr);
  const uint64_t range = handle.limits().max_buffer_range;
  if (range > (uint64_t{512} << 20)) GTEST_SKIP() << "skipped: bindings here are longer than this test has memory";
  for (const bool copies : {false, true}) {
    SCOPED_TRACE(copies);
    DeviceOptions options;
    options.force_copies = copies;
    device_ = open(options);
    sync::Slot& slot = pool_.acquire(range + (size_t{16} << 20), sync::SlotUse::activations, "long");
    AddCase test(pool_, 3, 40);
    test.op.x = {&slot, range + 4 * 4099};
    test.fill(1, 2);
    run(test.as_operator());
    EXPECT_TRUE(test.all_are(3, 1));
    device_.reset();
    pool_.release(slot);
  }
}

TEST_F(VulkanDeviceTest, refuses_activations_beyond_a_bindings_reach_with_the_reason) {
  device_ = open();
  const Handle handle(0, {}, nullptr);
  if (handle.limits().max_buffer_range > (uint64_t{1} << 30)) GTEST_SKIP() << "skipped: bindings here are long";
  AddCase test(pool_, 2, 16);
  test.op.x_stride = static_cast<int64_t>(handle.limits().max_buffer_range / 4);
  const Support support = device_->supports(test.as_operator());
  EXPECT_FALSE(support.yes);
  EXPECT_THAT(support.reason, HasSubstr("bytes"));
  EXPECT_THAT(support.reason, HasSubstr("'x'"));
}

TEST_F(VulkanDeviceTest, estimates_grow_with_the_work) {
  device_ = open();
  const AddCase small(pool_, 1, 64), large(pool_, 64, 6400);
  const Operator a = small.as_operator(), b = large.as_operator();
  const Cost cheap = device_->estimate(std::span(&a, 1)), dear = device_->estimate(std::span(&b, 1));
  EXPECT_GT(cheap.seconds, 0);
  EXPECT_GT(dear.seconds, cheap.seconds);
  EXPECT_GT(dear.joules, cheap.joules);
}

TEST_F(VulkanDeviceTest, spans_lie_on_the_steady_clock_in_order_of_execution) {
  device_ = open();
  const AddCase test(pool_, 8, 4000);
  const Operator op = test.as_operator();
  const auto first = device_->prepare(std::span(&op, 1)), second = device_->prepare(std::span(&op, 1));
  auto now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  launch_one(*device_, *first, {}, {});
  device_->finish(kDeadline);
  EXPECT_TRUE(lab_of(*device_).take_spans().empty()) << "recording is off";
  lab_of(*device_).record_spans(true);
  const double before = now();
  launch_one(*device_, *first, {}, {});
  launch_one(*device_, *second, {}, {});
  device_->finish(kDeadline);
  const double after = now();
  const auto spans = lab_of(*device_).take_spans();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].program, first.get());
  EXPECT_EQ(spans[1].program, second.get());
  constexpr double kClockError = 1e-3;
  EXPECT_GE(spans[0].start_seconds, before - kClockError);
  EXPECT_LT(spans[0].start_seconds, spans[0].end_seconds);
  EXPECT_LE(spans[0].end_seconds, spans[1].start_seconds + kClockError);
  EXPECT_LE(spans[1].end_seconds, after + kClockError);
  EXPECT_TRUE(lab_of(*device_).take_spans().empty()) << "taken once";
}

// gate = 128 makes SwiGLU exactly 128 * up. So the kernel stores the rounding of chosen values.
TEST_F(VulkanDeviceTest, rounds_to_half_to_the_nearest_even_with_denormals_and_overflow) {
  std::vector<float> values{0.0f,         -0.0f,        1.0f + 0x1p-11f, 1.0f + 0x3p-11f, 1.0f + 0x1.8p-11f,
                            65504.0f,     65519.0f,     65520.0f,        -65536.0f,       1e30f,
                            -1e30f,       INFINITY,     131008.0f,       -INFINITY,       0x1p-14f,
                            0x1p-24f,     0x1p-25f,     0x1.8p-25f,      0x1.8p-24f,      0x1.4p-23f,
                            0x1.ffcp-15f, 0x1.ffep-15f, 0x1.fffp-15f,    0x1p-26f,        -0x1.8p-24f,
                            0.1f,         3.14159274f,  -2047.5f};
  for (int i = 0; i < 4096; ++i) values.push_back(std::ldexp(1.0f + static_cast<float>(i) / 4096, i % 42 - 26));
  const auto count = static_cast<int64_t>(values.size());
  Glu op;
  op.S = 1, op.I = count, op.round_f16 = true;
  op.gate_stride = op.up_stride = op.y_stride = count;
  op.gate = {&pool_.acquire(values.size() * 4, sync::SlotUse::activations, "gate"), 0};
  op.up = {&pool_.acquire(values.size() * 4, sync::SlotUse::activations, "up"), 0};
  op.y = {&pool_.acquire(values.size() * 4, sync::SlotUse::activations, "y"), 0};
  for (size_t i = 0; i < values.size(); ++i) {
    op.gate.as<float>()[i] = 128;
    op.up.as<float>()[i] = values[i] / 128;
  }
  for (const KernelFamily family : {KernelFamily::simd, KernelFamily::simt}) {
    DeviceOptions options;
    options.gpu_family = family;
    device_ = open(options);
    run({"half", op});
    for (size_t i = 0; i < values.size(); ++i) {
      const float expected = half_to_float(float_to_half(values[i]));
      EXPECT_EQ(std::memcmp(&op.y.as<float>()[i], &expected, 4), 0)
          << (family == KernelFamily::simd ? "simd: " : "simt: ") << values[i] << " became " << op.y.as<float>()[i]
          << ", not " << expected;
    }
    op.up.as<float>()[0] = NAN;
    run({"half", op});
    EXPECT_TRUE(std::isnan(op.y.as<float>()[0]))
        << (family == KernelFamily::simd ? "simd: " : "simt: ") << op.y.as<float>()[0];
    op.up.as<float>()[0] = 0;
    device_.reset();
  }
}

}  // namespace
}  // namespace tandem::vulkan
