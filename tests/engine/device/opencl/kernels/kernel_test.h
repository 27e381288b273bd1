// Shared parts of the kernel tests: the family as a parameter, seeded values, comparisons of bits and of values.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/tensor/types.h"
#include "tests/engine/device/driver_faults.h"
#include "tests/engine/device/opencl/kernels/bare_runner.h"
#include "tests/support/requirements.h"

namespace tandem::opencl::test {

class ClosesRunner : public ::testing::Environment {
 public:
  void TearDown() override { BareRunner::close(); }
};
inline const ::testing::Environment* const kClosesRunner = ::testing::AddGlobalTestEnvironment(new ClosesRunner);

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

  // Packs random blocks of a storage type. Every byte pattern is a valid block. With bit 6 of each byte cleared, all
  // halves in it are finite and below 2.
  PackedMatrix make_weights(StorageType type, int64_t rows, int64_t columns) {
    std::vector<std::byte> blocks(static_cast<size_t>(rows) * row_bytes(type, columns));
    if (info(type).block_values == 1) {
      const std::vector<float> values = random(static_cast<size_t>(rows * columns));
      for (size_t i = 0; i < values.size(); ++i) {
        const uint16_t half = type == StorageType::f16 ? float_to_half(values[i]) : float_to_bf16(values[i]);
        if (type == StorageType::f32)
          std::memcpy(&blocks[i * 4], &values[i], 4);
        else
          std::memcpy(&blocks[i * 2], &half, 2);
      }
    } else {
      for (std::byte& b : blocks) b = static_cast<std::byte>(generator_() & 0xbf);
    }
    PackedMatrix w;
    w.format = packed_format(type);
    w.rows = rows, w.columns = columns;
    w.data = memory_.room(w.bytes());
    pack_rows(type, blocks.data(), columns, 0, rows, w.data.as<std::byte>());
    return w;
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
