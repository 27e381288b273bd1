#include "engine/device/opencl/program_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/opencl/memory.h"
#include "engine/device/opencl/opencl_tuning.h"
#include "engine/device/opencl/platform.h"
#include "engine/device/opencl/self_test.h"
#include "kernels/kernels.h"
#include "sync/error.h"

namespace tandem::opencl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <typename Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

class ProgramCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = find_devices();
    if (found.empty()) GTEST_SKIP() << "skipped: no OpenCL device";
    handle_ = {found[0].platform, found[0].device, cl::Context(found[0].device), "opencl:0", ""};
  }
  Handle handle_;
};

TEST_F(ProgramCacheTest, a_kernel_that_does_not_build_is_an_error_with_source_options_and_log) {
  ProgramCache programs(handle_);
  const std::string options = "-DGROUP=32 -DSUPER=0 -DMIN_KIND=0 -DBLOCKS=4 -DTOKENS=no_such_number";
  EXPECT_THAT(error_of([&] { programs.kernel("matmul_i4_simd", "matmul_few", options); }),
              AllOf(HasSubstr("clBuildProgram"), HasSubstr("CL_BUILD_PROGRAM_FAILURE"), HasSubstr("matmul_i4_simd.cl"),
                    HasSubstr("opencl:0"), HasSubstr("Build log"), HasSubstr("no_such_number'")));
}

TEST_F(ProgramCacheTest, a_kernel_that_the_source_does_not_have_is_named) {
  ProgramCache programs(handle_);
  EXPECT_THAT(error_of([&] { programs.kernel("probe", "no_such_kernel", ""); }),
              AllOf(HasSubstr("clCreateKernel"), HasSubstr("CL_INVALID_KERNEL_NAME"), HasSubstr("no_such_kernel")));
}

TEST_F(ProgramCacheTest, gates_build_without_c11_atomics_too) {
  ProgramCache programs(handle_);
  EXPECT_EQ(error_of([&] { programs.kernel("gate", "gate", ""); }), "");
  EXPECT_EQ(error_of([&] { programs.kernel("gate", "signal_flag", ""); }), "");
}

TEST_F(ProgramCacheTest, equal_source_and_options_are_built_once) {
  ProgramCache programs(handle_);
  const cl::Kernel first = programs.kernel("probe", "probe_fma", ""),
                   second = programs.kernel("probe", "probe_fma", "");
  EXPECT_EQ(first.getInfo<CL_KERNEL_PROGRAM>()(), second.getInfo<CL_KERNEL_PROGRAM>()());
  EXPECT_NE(first(), second()) << "arguments belong to the kernel object, so each launch has its own";
}

TEST(KernelSources, are_embedded_with_their_shared_parts_put_in) {
  EXPECT_THAT(std::string(kernel_source("matmul_i4_simd").value()), HasSubstr("#include \"matmul_simd.cl\""));
  const std::string whole = assemble_source("matmul_i4_simd");
  EXPECT_THAT(whole,
              AllOf(HasSubstr("FP_CONTRACT OFF"), HasSubstr("__kernel void matmul_gemm"), HasSubstr("load_run")));
  EXPECT_EQ(whole.find("#include"), std::string::npos);
}

TEST(KernelSources, an_unknown_stem_is_an_error) {
  EXPECT_THAT(error_of([] { assemble_source("nothing_like_it"); }), HasSubstr("nothing_like_it.cl"));
}

TEST(CheckedCalls, name_the_call_the_code_and_the_object) {
  EXPECT_THAT(
      error_of([] { check(CL_INVALID_KERNEL_ARGS, "clEnqueueNDRangeKernel", "blk.3.ffn_up"); }),
      AllOf(HasSubstr("clEnqueueNDRangeKernel"), HasSubstr("CL_INVALID_KERNEL_ARGS"), HasSubstr("blk.3.ffn_up")));
  EXPECT_THAT(error_of([] { check(-1001, "clGetPlatformIDs", "loader"); }), HasSubstr("pocl-opencl-icd"));
  EXPECT_EQ(code_name(-9999), "code -9999");
}

TEST_F(ProgramCacheTest, a_slot_beyond_the_largest_buffer_is_refused_by_name_and_size) {
  sync::Pool pool;
  sync::Slot& slot = pool.acquire(8192, sync::SlotUse::weights, "blk.0.huge");
  SlotMemory memory(handle_, true, 4096);
  EXPECT_THAT(error_of([&] { memory.buffer(slot); }),
              AllOf(HasSubstr("blk.0.huge"), HasSubstr("8192"), HasSubstr("4096")));
}

TEST_F(ProgramCacheTest, a_slot_is_imported_once_and_at_its_own_address) {
  sync::Pool pool;
  sync::Slot& slot = pool.acquire(4096, sync::SlotUse::activations, "a");
  SlotMemory memory(handle_, true, 1 << 20);
  const cl::Buffer first = memory.buffer(slot), second = memory.buffer(slot);
  EXPECT_EQ(first(), second());
  EXPECT_EQ(first.getInfo<CL_MEM_HOST_PTR>(), slot.data());
}

}  // namespace
}  // namespace tandem::opencl
