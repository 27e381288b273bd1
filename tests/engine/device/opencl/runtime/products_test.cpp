// At start a device tries which instructions its kernels can use to add products of bytes. It drops failing ones
// without a message. So these tests say where none may fail.
#include "engine/device/opencl/products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "engine/device/opencl/platform.h"
#include "tests/support/requirements.h"

namespace tandem::opencl {
namespace {

class Products : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto found = find_devices();
    if (found.empty()) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
    pocl_ = found[0].platform.getInfo<CL_PLATFORM_NAME>().find("Portable Computing Language") == 0;
    programs_.emplace(Handle{found[0].platform, found[0].device, cl::Context(found[0].device), "opencl:0", ""});
    queue_ = cl::CommandQueue(programs_->handle().context, found[0].device);
  }
  bool pocl_ = false;
  std::optional<ProgramCache> programs_;
  cl::CommandQueue queue_;
};

// PoCL compiles for the processor that runs the tests.
TEST_F(Products, of_every_instruction_that_the_processor_has_are_proven_on_pocl) {
  if (!pocl_) GTEST_SKIP() << "skipped: this compiler may not know instructions by name";
  for (const gpu::ByteProducts how : host_byte_products())
    EXPECT_TRUE(products_proven(how, *programs_, queue_)) << gpu::byte_products_option(how);
  EXPECT_EQ(best_byte_products(*programs_, queue_, {}), host_byte_products().front());
}

TEST_F(Products, in_plain_c_are_proven_everywhere_and_are_what_is_left_when_instructions_are_to_be_spared) {
  EXPECT_TRUE(products_proven(gpu::ByteProducts::plain, *programs_, queue_));
  EXPECT_EQ(host_byte_products().back(), gpu::ByteProducts::plain);
  Precautions spared;
  for (const char* step : {"vpdpbusd", "vpmaddubsw"}) spared.spared[step] = "a test says so";
  EXPECT_EQ(best_byte_products(*programs_, queue_, spared), gpu::ByteProducts::plain);
}

}  // namespace
}  // namespace tandem::opencl
