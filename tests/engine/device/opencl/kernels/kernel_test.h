// Shared parts of the kernel tests: the family as a parameter, seeded values, comparisons of bits and of values.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/device/driver_faults.h"
#include "tests/engine/device/opencl/kernels/bare_runner.h"
#include "tests/support/requirements.h"

namespace tandem::opencl::test {

class KernelTest : public ::testing::TestWithParam<KernelFamily> {
 protected:
  void SetUp() override {
    runner_ = BareRunner::instance();
    if (!runner_) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
    if (GetParam() == KernelFamily::simt) SKIP_WHERE_MISCOMPILED("opencl:0", "simt");
    context_ = runner_->context();
    context_.family = GetParam();
  }
  void TearDown() override { EXPECT_TRUE(memory_.canaries_hold()) << "a kernel wrote past the end of an operand"; }

  std::vector<float> random(size_t count, float scale = 1.0f) {
    std::uniform_real_distribution<float> value(-scale, scale);
    std::vector<float> out(count);
    for (float& v : out) v = value(generator_);
    return out;
  }

  BareRunner* runner_ = nullptr;
  LoweringContext context_;
  Memory memory_;
  std::mt19937 generator_{20240917};
};

inline std::string family_name(const ::testing::TestParamInfo<KernelFamily>& info) {
  return info.param == KernelFamily::simt ? "simt" : "simd";
}
#define TANDEM_BOTH_FAMILIES(suite) \
  INSTANTIATE_TEST_SUITE_P(Family, suite, ::testing::Values(KernelFamily::simd, KernelFamily::simt), family_name)

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace tandem::opencl::test
