#include "engine/tensor/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/tensor/published_types.h"
#include "sync/error.h"

namespace tandem {
namespace {

std::vector<float> decode(StorageType type, const std::vector<uint8_t>& bytes, int64_t values) {
  std::vector<float> out(static_cast<size_t>(values));
  decode_row(type, bytes.data(), out.data(), values);
  return out;
}

constexpr uint8_t kOneLow = 0x00, kOneHigh = 0x3c;  // half 1.0
constexpr uint8_t kTwoHigh = 0x40;                  // half 2.0

TEST(StorageType, every_type_is_found_by_its_gguf_number) {
  for (const StorageTypeInfo& entry : storage_types()) {
    EXPECT_EQ(storage_type_from_number(static_cast<uint32_t>(entry.type)), entry.type) << entry.name;
    EXPECT_STREQ(info(entry.type).name, entry.name);
  }
  EXPECT_EQ(storage_types().size(), 16u);
  EXPECT_FALSE(storage_type_from_number(4).has_value()) << "Q4_2 was withdrawn from the format";
  EXPECT_FALSE(storage_type_from_number(99).has_value());
}

TEST(StorageType, every_published_number_has_its_name) {
  for (const StorageTypeInfo& entry : storage_types()) {
    const PublishedType* published = published_type(static_cast<uint32_t>(entry.type));
    ASSERT_NE(published, nullptr) << entry.name;
    EXPECT_STREQ(published->name, entry.name);
    EXPECT_EQ(published->instead, nullptr) << "what is supported was not withdrawn";
  }
  const std::pair<uint32_t, const char*> some[] = {
      {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"},  {19, "IQ1_S"},
      {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {27, "I64"},    {28, "F64"},      {29, "IQ1_M"},
      {34, "TQ1_0"}, {35, "TQ2_0"}, {39, "MXFP4"},   {40, "NVFP4"},  {31, "Q4_0_4_4"}, {38, "IQ4_NL_8_8"}};
  for (const auto& [number, name] : some) EXPECT_STREQ(published_type(number)->name, name);
  for (size_t i = 0; i < published_types().size(); ++i) EXPECT_EQ(published_types()[i].number, i) << "no gap";
  EXPECT_EQ(published_type(static_cast<uint32_t>(published_types().size())), nullptr);
}

TEST(StorageType, what_was_withdrawn_says_what_to_use) {
  for (const uint32_t number : {4u, 31u, 32u, 33u}) EXPECT_EQ(published_type(number)->instead, std::string("Q4_0"));
  for (const uint32_t number : {36u, 37u, 38u}) EXPECT_EQ(published_type(number)->instead, std::string("IQ4_NL"));
}

TEST(StorageType, a_row_of_half_a_block_is_refused) {
  EXPECT_EQ(row_bytes(StorageType::q4_k, 512), 288u);
  EXPECT_THROW(row_bytes(StorageType::q4_k, 128), Error);
  EXPECT_THROW(row_bytes(StorageType::q8_0, 33), Error);
}

TEST(DecodeRow, q4_0_holds_value_j_in_the_low_and_j_plus_16_in_the_high_nibble) {
  std::vector<uint8_t> block(18, 0x88);
  block[0] = kOneLow, block[1] = kTwoHigh;
  block[2] = 0xf0;
  const auto out = decode(StorageType::q4_0, block, 32);
  EXPECT_EQ(out[0], -16.0f);
  EXPECT_EQ(out[16], 14.0f);
  EXPECT_EQ(out[1], 0.0f);
}

TEST(DecodeRow, q5_1_takes_the_fifth_bit_from_its_own_word) {
  std::vector<uint8_t> block(24, 0);
  block[1] = kOneHigh, block[3] = kTwoHigh;
  block[4] = 0x02;   // value 1 has the high bit
  block[7] = 0x80;   // value 31 has the high bit
  block[23] = 0x30;  // low bits of value 31
  const auto out = decode(StorageType::q5_1, block, 32);
  EXPECT_EQ(out[0], 2.0f);
  EXPECT_EQ(out[1], 18.0f);
  EXPECT_EQ(out[31], 21.0f);
}

TEST(DecodeRow, q4_k_puts_scales_of_the_upper_groups_together_from_two_places) {
  std::vector<uint8_t> block(144, 0);
  block[1] = kOneHigh, block[3] = kOneHigh;
  block[4] = 0xc5;        // group 0: scale 5; group 4: high bits 3 of its scale
  block[8] = 0x47;        // group 0: min 7; group 4: high bits 1 of its min
  block[12] = 0x21;       // group 4: low bits 1 of its scale, 2 of its min
  block[16] = 0x03;       // value 0
  block[16 + 64] = 0x02;  // value 128, the first of group 4
  const auto out = decode(StorageType::q4_k, block, 256);
  EXPECT_EQ(out[0], 5.0f * 3 - 7);
  EXPECT_EQ(out[128], (1 + 48) * 2.0f - (2 + 16));
}

TEST(DecodeRow, q6_k_joins_four_low_and_two_high_bits) {
  std::vector<uint8_t> block(210, 0);
  block[209] = kOneHigh;
  block[192 + 2] = 3;           // scale of values 32..47
  block[192 + 15] = 0xff;       // scale -1 of values 240..255
  block[32] = 0x0a;             // low bits of value 32
  block[128] = 0x04;            // high bits 1 of value 32
  block[64 + 32 + 31] = 0xf0;   // low bits of value 255
  block[128 + 32 + 31] = 0xc0;  // high bits 3 of value 255
  const auto out = decode(StorageType::q6_k, block, 256);
  EXPECT_EQ(out[32], 3.0f * (10 + 16 - 32));
  EXPECT_EQ(out[255], -(15.0f + 48 - 32));
}

TEST(DecodeRow, q3_k_subtracts_four_where_the_high_bit_is_missing) {
  std::vector<uint8_t> block(110, 0);
  block[109] = kOneHigh;
  block[96] = 0x01, block[104] = 0x02;  // scale of group 0: 1 + 32 - 32
  block[0] = 0x01;                      // value 0 has the high bit, value 1 does not
  block[32] = 0x02, block[33] = 0x01;
  const auto out = decode(StorageType::q3_k, block, 256);
  EXPECT_EQ(out[0], 2.0f);
  EXPECT_EQ(out[1], -3.0f);
}

TEST(DecodeRow, iq4_xs_looks_values_up_in_the_code_book) {
  std::vector<uint8_t> block(136, 0);
  block[1] = kOneHigh;
  block[2] = 0x02;  // high bits of the scale of group 0: 2 -> 32
  block[4] = 0x03;  // low bits: 3
  block[8] = 0xf0;
  const auto out = decode(StorageType::iq4_xs, block, 256);
  EXPECT_EQ(out[0], -127.0f * 3);
  EXPECT_EQ(out[16], 113.0f * 3);
}

// The scale 129 is 2^2, and half of it multiplies twice the values of the code book.
TEST(DecodeRow, mxfp4_multiplies_floats_of_four_bits_by_a_power_of_two) {
  std::vector<uint8_t> block(17, 0);
  block[0] = 129;
  block[1] = 0xf7;   // values 0 and 16: 6 and -6
  block[2] = 0x91;   // values 1 and 17: 0.5 and -0.5
  block[16] = 0x5e;  // values 15 and 31: -4 and 3
  const auto out = decode(StorageType::mxfp4, block, 32);
  EXPECT_EQ(out[0], 24.0f);
  EXPECT_EQ(out[16], -24.0f);
  EXPECT_EQ(out[1], 2.0f);
  EXPECT_EQ(out[17], -2.0f);
  EXPECT_EQ(out[15], -16.0f);
  EXPECT_EQ(out[31], 12.0f);
  EXPECT_EQ(out[2], 0.0f);
  block[0] = 0;
  EXPECT_EQ(decode(StorageType::mxfp4, block, 32)[0], 6 * 0x1p-127f) << "below the smallest normal number";
  block[0] = 255;
  EXPECT_TRUE(std::isnan(decode(StorageType::mxfp4, block, 32)[0]));
}

}  // namespace
}  // namespace tandem
