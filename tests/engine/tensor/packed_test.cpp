#include "engine/tensor/packed.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

#include "sync/error.h"
#include "tests/engine/tensor/random_blocks.h"

namespace tandem {
namespace {

int64_t columns_for(StorageType type) {
  const uint32_t block = info(type).block_values;
  return block == 1 ? 37 : block == 32 ? 96 : 768;
}

// Equal bits, except for the sign of zero. A zero-point format computes fma(8, d, -8 d) = +0, but (8 - 8) * d is -0 for
// a negative d.
bool same_value(const PackedFormat& format, float contract, float published) {
  if (format.min == MinKind::zero_point && contract == 0 && published == 0) return true;
  return std::bit_cast<uint32_t>(contract) == std::bit_cast<uint32_t>(published);
}

std::vector<std::byte> packed_of(StorageType type, const std::vector<uint8_t>& source, int64_t rows, int64_t columns) {
  std::vector<std::byte> panels(packed_bytes(packed_format(type), rows, columns));
  pack_rows(type, source.data(), columns, 0, rows, panels.data());
  return panels;
}

class PackedOfEveryType : public ::testing::TestWithParam<StorageType> {};

TEST_P(PackedOfEveryType, loses_no_bit_of_the_published_value) {
  const StorageType type = GetParam();
  const PackedFormat format = packed_format(type);
  const int64_t rows = 150, columns = columns_for(type);  // two panels and a part of one
  const auto source = testing::random_rows(type, rows, columns, 7);
  const auto panels = packed_of(type, source, rows, columns);
  std::vector<float> contract(columns), published(columns);
  for (int64_t row = 0; row < rows; ++row) {
    decode_packed_row(format, panels.data(), columns, row, contract.data());
    decode_row(type, source.data() + row * row_bytes(type, columns), published.data(), columns);
    for (int64_t k = 0; k < columns; ++k)
      ASSERT_TRUE(same_value(format, contract[k], published[k]))
          << "row " << row << " column " << k << ": " << contract[k] << " against " << published[k];
  }
}

TEST_P(PackedOfEveryType, pads_the_last_panel_with_zero_rows) {
  const StorageType type = GetParam();
  const int64_t rows = 65, columns = columns_for(type);
  const auto panels = packed_of(type, testing::random_rows(type, rows, columns, 8), rows, columns);
  std::vector<float> values(columns, 1.0f);
  for (int64_t row = rows; row < 128; ++row) {
    decode_packed_row(packed_format(type), panels.data(), columns, row, values.data());
    for (float value : values) ASSERT_EQ(value, 0.0f) << "row " << row;
  }
}

TEST_P(PackedOfEveryType, is_the_same_packed_by_two_threads_in_pieces) {
  const StorageType type = GetParam();
  const int64_t rows = 200, columns = columns_for(type);
  const auto source = testing::random_rows(type, rows, columns, 9);
  const auto whole = packed_of(type, source, rows, columns);
  std::vector<std::byte> pieces(whole.size());
  const auto pack = [&](int64_t begin, int64_t end) {
    pack_rows(type, source.data() + begin * row_bytes(type, columns), columns, begin, end - begin, pieces.data());
  };
  std::thread other([&] {
    pack(128, 131);  // one panel in three parts, one after the other
    pack(131, 190);
    pack(190, 200);
  });
  pack(0, 100);
  pack(100, 128);
  other.join();
  EXPECT_EQ(pieces, whole);
}

INSTANTIATE_TEST_SUITE_P(Types, PackedOfEveryType, ::testing::ValuesIn([] {
                           std::vector<StorageType> types;
                           for (const StorageTypeInfo& entry : storage_types()) types.push_back(entry.type);
                           return types;
                         }()),
                         [](const auto& test) { return std::string(tandem::info(test.param).name); });

TEST(PackedFormat, names_are_those_of_the_kernels_builds) {
  EXPECT_EQ(to_string(packed_format(StorageType::q4_0)), "i4.g32.half.zero8");
  EXPECT_EQ(to_string(packed_format(StorageType::q4_1)), "i4.g32.half.min");
  EXPECT_EQ(to_string(packed_format(StorageType::q4_k)), "i4.g32.super.min");
  EXPECT_EQ(to_string(packed_format(StorageType::q2_k)), "i4.g16.super.min");
  EXPECT_EQ(to_string(packed_format(StorageType::q3_k)), "i4.g16.super.zero4");
  EXPECT_EQ(to_string(packed_format(StorageType::q8_0)), "i8.g32.half");
  EXPECT_EQ(to_string(packed_format(StorageType::q5_0)), "i8.g32.half");
  EXPECT_EQ(to_string(packed_format(StorageType::iq4_nl)), "i4.g32.half.iq4");
  EXPECT_EQ(to_string(packed_format(StorageType::mxfp4)), "i4.g32.half.e2m1");
  EXPECT_EQ(to_string(packed_format(StorageType::q5_1)), "i8.g32.half.min");
  EXPECT_EQ(to_string(packed_format(StorageType::q5_k)), "i8.g32.super.min");
  EXPECT_EQ(to_string(packed_format(StorageType::q6_k)), "i8.g16.super");
  EXPECT_EQ(to_string(packed_format(StorageType::iq4_xs)), "i4.g32.super.iq4");
  EXPECT_EQ(to_string(packed_format(StorageType::iq3_s)), "i8.g32.super");
  EXPECT_EQ(to_string(packed_format(StorageType::nvfp4)), "i4.g16.half.e2m1");
  for (const StorageType type : {StorageType::iq3_xxs, StorageType::iq2_xxs, StorageType::iq1_s})
    EXPECT_EQ(to_string(packed_format(type)), "i8.g32.eighths");
  for (const StorageType type : {StorageType::iq2_xs, StorageType::iq2_s, StorageType::iq1_m})
    EXPECT_EQ(to_string(packed_format(type)), "i8.g16.eighths");
  for (const StorageType type : {StorageType::tq1_0, StorageType::tq2_0, StorageType::q2_0, StorageType::q1_0})
    EXPECT_EQ(to_string(packed_format(type)), "i4.g32.half.zero1");
  EXPECT_EQ(to_string(packed_format(StorageType::bf16)), "bf16");
}

TEST(PackedFormat, panels_are_whole_cache_lines_of_the_stated_size) {
  EXPECT_EQ(panel_bytes(packed_format(StorageType::q4_1), 64), 2u * (256 + 1024));
  EXPECT_EQ(panel_bytes(packed_format(StorageType::q6_k), 256), 128u + 8 * (128 + 2048));
  EXPECT_EQ(panel_bytes(packed_format(StorageType::q2_k), 512), 2u * (256 + 8 * (256 + 1024)));
  EXPECT_EQ(panel_bytes(packed_format(StorageType::f16), 5), 640u);
  EXPECT_EQ(packed_bytes(packed_format(StorageType::q8_0), 65, 32), 2u * (128 + 2048));
}

TEST(PackedFormat, quants_of_columns_k_and_k_plus_one_share_a_byte) {
  std::vector<uint8_t> block(18, 0);
  block[1] = 0x3c;                   // scale 1
  block[2] = 0x0a, block[3] = 0x0b;  // columns 0 and 1
  const auto panels = packed_of(StorageType::q4_0, block, 1, 32);
  EXPECT_EQ(panels[128], std::byte{0xba});
}

// Powers of two that are halves: 2^-24 to 2^15.
TEST(PackedMxfp4, holds_every_scale_that_weights_have_and_refuses_others) {
  std::vector<uint8_t> block(17, 0x97);  // 6 and -0.5, sixteen times
  const auto values_with = [&](int exponent) {
    block[0] = static_cast<uint8_t>(exponent + 128);
    const auto panels = packed_of(StorageType::mxfp4, block, 1, 32);
    std::vector<float> values(32);
    decode_packed_row(packed_format(StorageType::mxfp4), panels.data(), 32, 0, values.data());
    return values;
  };
  for (const int exponent : {-24, -1, 0, 15}) {
    const std::vector<float> values = values_with(exponent);
    EXPECT_EQ(values[0], std::ldexp(12.0f, exponent)) << exponent;
    EXPECT_EQ(values[31], std::ldexp(-1.0f, exponent)) << exponent;
  }
  for (const int exponent : {-128, -25, 16, 126, 127}) EXPECT_THROW(values_with(exponent), Error) << exponent;
  block.assign(17, 0x80);  // zeros of both signs
  for (const int exponent : {-128, -25, 16, 126}) EXPECT_EQ(values_with(exponent)[16], 0.0f) << exponent;
  EXPECT_THROW(values_with(127), Error) << "not a number";
}

// Kept files hold packed bytes, and only the version identifies their layout.
TEST(PackedFormat, bytes_change_with_the_packing_version_only) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const StorageTypeInfo& type : storage_types()) {
    if (type.type == StorageType::mxfp4) continue;  // not every byte is a scale that can be packed
    std::mt19937 random(11);
    std::vector<uint8_t> source(70 * row_bytes(type.type, 256));  // a whole panel and a part of one
    for (uint8_t& byte : source) byte = static_cast<uint8_t>(random() >> 24);
    for (const std::byte byte : packed_of(type.type, source, 70, 256))
      hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
  }
  EXPECT_EQ(kPackingVersion, 2u);
  EXPECT_EQ(hash, 9853030825340085315u) << "raise kPackingVersion unless types were added, and write both here";
}

}  // namespace
}  // namespace tandem
