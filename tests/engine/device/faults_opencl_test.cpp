// OpenCL calls that fail: each ends in the named error, and the same device runs the next plan.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "tests/engine/device/faults_api.h"
#include "tests/engine/device/faults_support.h"
#include "tests/support/requirements.h"

namespace tandem::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class OpenclFaults : public ::testing::TestWithParam<FaultyWay> {};

#define OPEN_BENCH(bench)       \
  FaultBench bench(GetParam()); \
  if (!bench.open()) SKIP_FOR_WANT_OF(opencl, "no OpenCL device")

TEST_P(OpenclFaults, a_device_lost_at_any_call_of_a_run_is_named_and_runs_the_next_plan) {
  OPEN_BENCH(bench);
  ASSERT_TRUE(bench.runs_well());
  int seen = 0;
  for (const char* call : {"clEnqueueNDRangeKernel", "clFinish", "clFlush", "clGetEventInfo"}) {
    for (int skip = 0; skip < 4; ++skip) {
      std::string error;
      {
        const FailingCall fault(call, CL_OUT_OF_RESOURCES, skip);
        error = bench.run();
        if (fault.hits() == 0) break;  // this way of running makes no such call
      }
      // If a flush at the end of a batch fails, the later wait makes up for it.
      if (error.empty()) {
        EXPECT_EQ(bench.plan.wrong(), 0) << call << " after " << skip;
      } else {
        ++seen;
        EXPECT_THAT(error, HasSubstr("CL_OUT_OF_RESOURCES")) << call << " after " << skip;
        EXPECT_THAT(error, HasSubstr("opencl:0")) << call << " after " << skip;
      }
      EXPECT_TRUE(bench.runs_well()) << call << " after " << skip;
    }
  }
  EXPECT_GT(seen, 0);
}

TEST(OpenclListing, that_fails_is_named_where_its_device_is_asked_for) {
  if (device_factory("opencl:0").count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  const FailingCall fault("clGetDeviceIDs", CL_OUT_OF_RESOURCES, 0, 1000);
  const std::string error = message_of([] { open_device("opencl:0", {}); });
  EXPECT_THAT(error, HasSubstr("there is no such device"));
  EXPECT_THAT(error, HasSubstr("does not list its devices: clGetDeviceIDs failed with CL_OUT_OF_RESOURCES"));
}

TEST(OpenclListing, of_no_devices_is_no_failure) {
  if (device_factory("opencl:0").count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  const FailingCall fault("clGetDeviceIDs", CL_DEVICE_NOT_FOUND, 0, 1000);
  EXPECT_THAT(message_of([] { open_device("opencl:0", {}); }), ::testing::Not(HasSubstr("does not list")));
}

TEST_P(OpenclFaults, a_device_lost_in_mid_plan_can_be_closed_and_opened_again) {
  OPEN_BENCH(bench);
  ASSERT_TRUE(bench.runs_well());
  {
    const FailingCall fault("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES);
    EXPECT_THAT(bench.run(), HasSubstr("CL_OUT_OF_RESOURCES"));
  }
  bench.reopen(GetParam());
  EXPECT_TRUE(bench.runs_well());
}

TEST_P(OpenclFaults, a_source_that_does_not_compile_is_named_with_the_compilers_log_and_the_next_one_does) {
  OPEN_BENCH(bench);
  for (int skip = 0; skip < 2; ++skip) {
    std::string error;
    {
      const FailingCall fault("clCreateProgramWithSource", 1, skip);
      error = bench.run();
      if (fault.hits() == 0) break;  // all programs are compiled
    }
    EXPECT_THAT(error, HasSubstr("clBuildProgram failed with CL_BUILD_PROGRAM_FAILURE"));
    EXPECT_THAT(error, HasSubstr(".cl"));
    EXPECT_THAT(error, HasSubstr("opencl:0"));
    EXPECT_THAT(error, HasSubstr("Build log"));
    if (skip == 0) continue;
    EXPECT_TRUE(bench.runs_well());
  }
  EXPECT_TRUE(bench.runs_well());
}

TEST_P(OpenclFaults, memory_that_the_device_does_not_have_is_named_by_its_slot_and_can_be_had_later) {
  OPEN_BENCH(bench);
  int seen = 0;
  for (int skip = 0; skip < 6; ++skip) {
    bench.reopen(GetParam());
    std::string error;
    {
      const FailingCall fault("clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, skip);
      error = bench.run();
      if (fault.hits() == 0) break;
    }
    ++seen;
    EXPECT_THAT(error, HasSubstr("clCreateBuffer failed with CL_MEM_OBJECT_ALLOCATION_FAILURE")) << skip;
    EXPECT_THAT(error, HasSubstr("out of memory")) << "what to do";
    EXPECT_TRUE(bench.runs_well()) << skip;
  }
  EXPECT_GT(seen, 0);
}

TEST_P(OpenclFaults, a_slot_larger_than_the_devices_largest_buffer_is_refused_by_name) {
  if (!open_way(GetParam())) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  FaultPlan plan(3);
  std::unique_ptr<Device> device;
  {
    const FailingCall little("clGetDeviceInfo", 8192, 0, 100);
    device = open_way(GetParam());
  }
  if (device->info().max_allocation_bytes != 8192) GTEST_SKIP() << "skipped: the limit is read in another way";
  const Operator op = plan.product();  // the weights need more than 8192 bytes
  const Support support = device->supports(op);
  EXPECT_FALSE(support.yes);
  EXPECT_THAT(support.reason, HasSubstr("'weights'"));
  const std::string error = message_of([&] {
    const auto program = device->prepare(std::span(&op, 1));
    launch_one(*device, *program, {}, {});
    device->finish(std::chrono::seconds(60));
  });
  EXPECT_THAT(error, HasSubstr("weights"));
  EXPECT_THAT(error, HasSubstr("largest buffer of 8192 bytes"));
}

INSTANTIATE_TEST_SUITE_P(Ways, OpenclFaults,
                         ::testing::Values(FaultyWay{"gates", "opencl"},
                                           FaultyWay{"list", "opencl", sync::Policy::predict, false, 1},
                                           FaultyWay{"host_thread", "opencl", sync::Policy::blocking},
                                           FaultyWay{"copies", "opencl", sync::Policy::predict, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tandem::testing
