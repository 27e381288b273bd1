#include "npu_emu/number_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "packed/loops/exact_loops.h"

namespace tandem::npu_emu {
namespace {

// Weight (0, 0) of a dense panel with one column.
template <typename T>
float first_weight(PackedKind kind, T value) {
  std::vector<std::byte> panel(kPanelRows * sizeof(T));
  std::memcpy(panel.data(), &value, sizeof value);
  return cell_weight({kind}, panel.data(), 0, 0);
}

// The array multiplies 16-bit floats with 10 bits behind the point. 1 + 2^-11 lies between two of them and is rounded
// to the even one. bf16 has a larger range than these floats.
TEST(NumberFormat, weights_that_are_wider_than_the_arrays_floats_are_rounded_to_them) {
  EXPECT_EQ(first_weight(PackedKind::f32, 1 + 0x1p-11f), 1.0f);
  EXPECT_EQ(first_weight(PackedKind::f32, 1 + 0x1.8p-10f), 1 + 0x1p-9f);
  const auto bf16 = [](float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); };
  EXPECT_EQ(first_weight(PackedKind::bf16, bf16(0x1.5p-26f)), 0.0f) << "less than half of the least, 2^-24";
  EXPECT_EQ(first_weight(PackedKind::bf16, bf16(0x1p20f)), std::bit_cast<float>(0x7f800000)) << "beyond the largest";
  EXPECT_EQ(first_weight(PackedKind::bf16, bf16(1.5f)), 1.5f);
}

TEST(NumberFormat, rounds_the_same_on_every_instruction_set) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0xffff0000u; bits += 0x1235) {  // strides through all exponents and signs
    const float value = std::bit_cast<float>(bits);
    if (!std::isnan(value)) values.push_back(value);
  }
  values.push_back(std::numeric_limits<float>::infinity());
  for (const ExactLoops* loops : all_exact_loops()) {
    std::vector<float> rounded(values.size());
    loops->round_half(values.data(), rounded.data(), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(round_to_half(values[i])), std::bit_cast<uint32_t>(rounded[i]))
          << to_string(loops->set) << " " << values[i];
    }
  }
}

TEST(NumberFormat, has_names_both_ways) {
  for (const char* name : {"fp16", "int8", "int4"}) EXPECT_STREQ(name, to_string(*number_format(name)));
  EXPECT_FALSE(number_format("fp64"));
}

}  // namespace
}  // namespace tandem::npu_emu
