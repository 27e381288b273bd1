#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/lab/lab.h"
#include "engine/device/opencl/opencl_tuning.h"
#include "sync/error.h"
#include "tests/engine/device/opencl/runtime/weights.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using test::MatMulCase;
using testing::HasSubstr;

#define NEEDS_DEVICE() \
  if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device")

TEST(OpenclDevice, reports_what_it_proved_at_start) {
  NEEDS_DEVICE();
  const auto device = open_opencl_device(0, {});
  const DeviceInfo& info = device->info();
  EXPECT_EQ(info.id, "opencl:0");
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.zero_copy_note.empty());
  EXPECT_GT(info.max_allocation_bytes, 0);
  EXPECT_GE(info.compute_units, 1);
  ASSERT_EQ(info.policies.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(info.policies[i].policy, sync::kPolicies[i]);
    EXPECT_FALSE(info.policies[i].reason.empty()) << name_of(sync::kPolicies[i]);
  }
  EXPECT_TRUE(info.policies[0].passed) << info.policies[0].reason;
}

TEST(OpenclDevice, an_index_that_is_not_there_says_how_many_are) {
  NEEDS_DEVICE();
  try {
    open_opencl_device(99, {});
    FAIL() << "opened opencl:99";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("opencl:99"));
    EXPECT_THAT(error.hint(), HasSubstr(std::to_string(opencl_device_count().all)));
  }
}

TEST(OpenclDevice, the_kernel_family_can_be_chosen) {
  NEEDS_DEVICE();
  DeviceOptions options;
  options.gpu_family = KernelFamily::simt;
  EXPECT_EQ(open_opencl_device(0, options)->info().family, KernelFamily::simt);
}

TEST(OpenclDevice, gives_every_opencl_object_back) {
  NEEDS_DEVICE();
  cl::Context context;
  {
    MatMulCase test(StorageType::q4_0, 3, 100, 64);
    const Operator op = test.as_operator();
    const auto device = open_opencl_device(0, {});
    context = opencl::context_of(*device);
    auto use = [&] {
      const auto program = device->prepare(std::span(&op, 1));
      lab_of(*device).record_spans(true);
      launch_one(*device, *program, {}, {});
      device->finish(std::chrono::seconds(60));
      EXPECT_EQ(lab_of(*device).take_spans().size(), 1u);
      lab_of(*device).record_spans(false);
    };
    use();  // fills the caches of programs and slots
    const auto filled = context.getInfo<CL_CONTEXT_REFERENCE_COUNT>();
    for (int i = 0; i < 3; ++i) use();
    EXPECT_EQ(context.getInfo<CL_CONTEXT_REFERENCE_COUNT>(), filled) << "programs leak";
  }
  EXPECT_EQ(context.getInfo<CL_CONTEXT_REFERENCE_COUNT>(), 1u) << "the device leaks";
}

TEST(OpenclDevice, estimates_grow_with_the_work) {
  NEEDS_DEVICE();
  const auto device = open_opencl_device(0, {});
  MatMulCase small(StorageType::q4_0, 1, 64, 64), large(StorageType::q4_0, 64, 640, 640);
  const Operator a = small.as_operator(), b = large.as_operator();
  const Cost cheap = device->estimate(std::span(&a, 1)), dear = device->estimate(std::span(&b, 1));
  EXPECT_GT(cheap.seconds, 0);
  EXPECT_GT(dear.seconds, cheap.seconds);
  EXPECT_DOUBLE_EQ(dear.flops, 2.0 * 64 * 640 * 640);
  EXPECT_GT(dear.joules, cheap.joules);
}

TEST(OpenclDevice, measures_each_kernel_of_a_program_with_the_operator_it_is_part_of) {
  NEEDS_DEVICE();
  const auto device = open_opencl_device(0, {});
  MatMulCase first(StorageType::q4_0, 3, 64, 64), second(StorageType::q4_0, 3, 128, 64);
  const auto program = device->prepare(std::vector<Operator>{first.as_operator(), second.as_operator()});
  lab_of(*device).record_spans(true);
  launch_one(*device, *program, {}, {});
  device->finish(std::chrono::seconds(60));
  const auto spans = lab_of(*device).take_spans();
  ASSERT_GE(spans.size(), 2u);
  EXPECT_EQ(spans.front().op, 0);
  EXPECT_EQ(spans.back().op, 1);
  for (size_t i = 1; i < spans.size(); ++i) {
    EXPECT_GE(spans[i].op, spans[i - 1].op);
    EXPECT_GE(spans[i].start_seconds, spans[i - 1].end_seconds) << "the queue is in order";
  }
}

TEST(OpenclDevice, spans_lie_on_the_steady_clock_in_order_of_execution) {
  NEEDS_DEVICE();
  const auto device = open_opencl_device(0, {});
  MatMulCase test(StorageType::q4_0, 1, 640, 640);
  const Operator op = test.as_operator();
  const auto first = device->prepare(std::span(&op, 1)), second = device->prepare(std::span(&op, 1));
  auto now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  launch_one(*device, *first, {}, {});
  device->finish(std::chrono::seconds(60));
  EXPECT_TRUE(lab_of(*device).take_spans().empty()) << "recording is off";
  lab_of(*device).record_spans(true);
  const double before = now();
  launch_one(*device, *first, {}, {});
  launch_one(*device, *second, {}, {});
  device->finish(std::chrono::seconds(60));
  const double after = now();
  const auto spans = lab_of(*device).take_spans();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].program, first.get());
  EXPECT_EQ(spans[1].program, second.get());
  constexpr double kClockError = 5e-3;  // the two clocks are matched once, by a marker
  EXPECT_GE(spans[0].start_seconds, before - kClockError);
  EXPECT_LT(spans[0].start_seconds, spans[0].end_seconds);
  EXPECT_LE(spans[0].end_seconds, spans[1].start_seconds);
  EXPECT_LE(spans[1].end_seconds, after + kClockError);
}

TEST(OpenclDevice, an_unsupported_top_k_says_why) {
  NEEDS_DEVICE();
  TopK op;
  op.S = 1, op.width = 100, op.k = 65;
  const Support support = open_opencl_device(0, {})->supports({"top", op});
  EXPECT_FALSE(support.yes);
  EXPECT_THAT(support.reason, HasSubstr("64"));
}

}  // namespace
}  // namespace tandem
