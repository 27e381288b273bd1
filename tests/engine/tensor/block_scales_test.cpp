// Products of whole blocks with a number. The decoded values afterwards are the products of the decoded values before.
#include "engine/tensor/block_scales.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/engine/tensor/random_blocks.h"

namespace tandem {
namespace {

constexpr int64_t kColumns = 512, kRows = 3;

std::vector<float> decoded(StorageType type, std::span<const std::byte> blocks) {
  std::vector<float> values(kColumns * kRows);
  decode_row(type, blocks.data(), values.data(), static_cast<int64_t>(values.size()));
  return values;
}

std::vector<std::byte> blocks_of(StorageType type, uint32_t seed) {
  const std::vector<uint8_t> bytes = testing::random_rows(type, kRows, kColumns, seed);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  std::vector<std::byte> blocks(begin, begin + bytes.size());
  if (type == StorageType::f16) {  // the random values are any halves
    for (size_t at = 1; at < blocks.size(); at += 2) blocks[at] &= std::byte{0x3f};
  }
  return blocks;
}

TEST(MultiplyBlocks, is_exact_by_powers_of_two_in_every_type) {
  for (const StorageTypeInfo& type : storage_types()) {
    for (const float factor : {1.0f, 2.0f, 8.0f}) {
      SCOPED_TRACE(std::string(type.name) + " times " + std::to_string(factor));
      std::vector<std::byte> blocks = blocks_of(type.type, 11);
      const std::vector<float> before = decoded(type.type, blocks);
      ASSERT_TRUE(multiply_blocks(type.type, blocks, factor));
      const std::vector<float> after = decoded(type.type, blocks);
      for (size_t i = 0; i < before.size(); ++i) ASSERT_EQ(after[i], factor * before[i]) << "value " << i;
    }
  }
}

// Rounding to nearest changes a half by at most 2^-11 of itself, a BF16 value by 2^-8, and an F32 value by less. A
// value is the product of a scale, in some types minus that of a minimum. Both products are at most twice the largest
// value, because the codes are random.
TEST(MultiplyBlocks, rounds_once_by_other_numbers) {
  for (const StorageTypeInfo& type : storage_types()) {
    SCOPED_TRACE(type.name);
    std::vector<std::byte> blocks = blocks_of(type.type, 12);
    const std::vector<float> before = decoded(type.type, blocks);
    ASSERT_TRUE(multiply_blocks(type.type, blocks, 3));
    const std::vector<float> after = decoded(type.type, blocks);
    if (type.type == StorageType::mxfp4) {  // its scales are powers of two, and 4 is the nearest one to 3
      for (size_t i = 0; i < before.size(); ++i) ASSERT_EQ(after[i], 4 * before[i]);
      continue;
    }
    if (type.type == StorageType::nvfp4) {  // its scales have four bits
      for (size_t i = 0; i < before.size(); ++i)
        ASSERT_NEAR(after[i], 3 * before[i], std::fabs(3 * before[i]) / 16 + 12 * 0x1p-11);
      continue;
    }
    float largest = 0;
    for (const float value : before) largest = std::max(largest, std::fabs(value));
    const float share = type.type == StorageType::bf16 ? 0x1p-8f : 0x1p-11f;
    for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(after[i], 3 * before[i], 3 * (2 * largest) * (2 * share));
    EXPECT_NE(after, before);
  }
}

TEST(MultiplyBlocks, says_where_a_number_ends_being_finite) {
  const auto with_half = [](StorageType type, size_t offset, float value) {
    std::vector<std::byte> blocks(2 * info(type).block_bytes);
    const uint16_t half = float_to_half(value);
    std::memcpy(blocks.data() + info(type).block_bytes + offset, &half, sizeof half);
    return blocks;
  };
  for (const StorageTypeInfo& type : storage_types()) {
    const BlockScales* scales = block_scales(type.type);
    if (scales == nullptr || scales->form != ScaleForm::half) continue;
    SCOPED_TRACE(type.name);
    std::vector<std::byte> fits = with_half(type.type, scales->scale, 32752);  // 65504, the largest half, is twice that
    EXPECT_TRUE(multiply_blocks(type.type, fits, 2));
    std::vector<std::byte> scale = with_half(type.type, scales->scale, 32768);
    EXPECT_FALSE(multiply_blocks(type.type, scale, 2));
    if (!scales->minimum) continue;
    std::vector<std::byte> minimum = with_half(type.type, *scales->minimum, 32768);
    EXPECT_FALSE(multiply_blocks(type.type, minimum, 2));
  }
  std::vector<std::byte> powers(17, std::byte{254});
  EXPECT_FALSE(multiply_blocks(StorageType::mxfp4, powers, 2));
  powers[0] = std::byte{253};
  EXPECT_TRUE(multiply_blocks(StorageType::mxfp4, powers, 2));
  std::vector<std::byte> floats(36, std::byte{0x76});  // 224
  EXPECT_TRUE(multiply_blocks(StorageType::nvfp4, floats, 2));
  EXPECT_EQ(floats[3], std::byte{0x7e});
  EXPECT_FALSE(multiply_blocks(StorageType::nvfp4, floats, 2)) << "448 is the largest";
  std::vector<std::byte> nibbles(56);
  const BlockScales& iq1_m = *block_scales(StorageType::iq1_m);
  set_scale(iq1_m, nibbles.data(), 32752);
  EXPECT_TRUE(multiply_blocks(StorageType::iq1_m, nibbles, 2));
  set_scale(iq1_m, nibbles.data(), 32768);
  EXPECT_FALSE(multiply_blocks(StorageType::iq1_m, nibbles, 2));
  std::vector<std::byte> values = with_half(StorageType::f16, 0, 65504);
  EXPECT_FALSE(multiply_blocks(StorageType::f16, values, 2));
  std::vector<std::byte> infinite = with_half(StorageType::f16, 0, INFINITY);
  EXPECT_TRUE(multiply_blocks(StorageType::f16, infinite, 2)) << "it was not finite before";
}

}  // namespace
}  // namespace tandem
