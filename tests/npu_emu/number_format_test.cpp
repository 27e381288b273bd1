#include "npu_emu/number_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "npu_emu/fast_kernels.h"

namespace tandem::npu_emu {
namespace {

TEST(NumberFormat, converts_every_half_to_float_and_back) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      ASSERT_EQ(half, float_to_half(value));
    }
  }
}

TEST(NumberFormat, rounds_halfway_values_to_even_and_their_neighbours_to_the_nearest) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {  // all pairs of finite neighbours
    const float low = half_to_float(static_cast<uint16_t>(bits)), high = half_to_float(static_cast<uint16_t>(bits + 1));
    const float middle = (low + high) / 2;  // exact in f32
    ASSERT_EQ(bits % 2 == 0 ? bits : bits + 1, float_to_half(middle)) << bits;
    ASSERT_EQ(bits, float_to_half(std::nextafter(middle, -1.0f)));
    ASSERT_EQ(bits + 1, float_to_half(std::nextafter(middle, 1e9f)));
    ASSERT_EQ((bits % 2 == 0 ? bits : bits + 1) | 0x8000u, float_to_half(-middle));
  }
  EXPECT_EQ(0x7bff, float_to_half(65519.996f));
  EXPECT_EQ(0x7c00, float_to_half(65520.0f));
}

TEST(NumberFormat, rounds_the_same_on_every_instruction_set) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0xffff0000u; bits += 0x1235) {  // strides through all exponents and signs
    const float value = std::bit_cast<float>(bits);
    if (!std::isnan(value)) values.push_back(value);
  }
  values.push_back(std::numeric_limits<float>::infinity());
  for (const FastKernels* kernels : all_kernels()) {
    std::vector<float> rounded(values.size());
    kernels->round_half(values.data(), rounded.data(), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(round_to_half(values[i])), std::bit_cast<uint32_t>(rounded[i]))
          << kernels->name << " " << values[i];
    }
  }
}

TEST(NumberFormat, has_names_both_ways) {
  for (const char* name : {"fp16", "int8", "int4"}) EXPECT_STREQ(name, to_string(*number_format(name)));
  EXPECT_FALSE(number_format("fp64"));
}

}  // namespace
}  // namespace tandem::npu_emu
