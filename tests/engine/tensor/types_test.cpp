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
  EXPECT_EQ(storage_types().size(), 28u);
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
      {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"},  {17, "IQ2_XS"},     {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"},
      {22, "IQ2_S"}, {24, "I8"},    {27, "I64"},      {28, "F64"},        {29, "IQ1_M"},   {34, "TQ1_0"}, {35, "TQ2_0"},
      {39, "MXFP4"}, {40, "NVFP4"}, {31, "Q4_0_4_4"}, {38, "IQ4_NL_8_8"}, {41, "Q1_0"},    {42, "Q2_0"}};
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

// 0x38 is 2^0, and half of it multiplies twice the values of the code book. 0x0f is (1 + 7/8) 2^-6, 0x01 is 2^-9.
TEST(DecodeRow, nvfp4_multiplies_floats_of_four_bits_by_a_float_of_eight) {
  std::vector<uint8_t> block(36, 0);
  block[0] = 0x38, block[1] = 0x0f, block[2] = 0x01, block[3] = 0x7f;
  block[4] = 0xf7;   // values 0 and 8: 6 and -6
  block[12] = 0x12;  // values 16 and 24: 1 and 0.5
  block[27] = 0x30;  // value 47: 1.5
  block[28] = 0x77;  // values 48 and 56
  const auto out = decode(StorageType::nvfp4, block, 64);
  EXPECT_EQ(out[0], 6.0f);
  EXPECT_EQ(out[8], -6.0f);
  EXPECT_EQ(out[16], 1.875f / 64);
  EXPECT_EQ(out[24], 1.875f / 128);
  EXPECT_EQ(out[47], 1.5f / 512);
  EXPECT_EQ(out[48], 0.0f) << "a scale that would be NaN counts as 0";
  block[0] = 0x7e;
  EXPECT_EQ(decode(StorageType::nvfp4, block, 64)[0], 448 * 6.0f);
}

// Number 1 is 43, then seven times 8. The scale 3 is 3.5 quarters.
TEST(DecodeRow, iq2_xxs_makes_the_number_of_minuses_even) {
  std::vector<uint8_t> block(66, 0);
  block[1] = kOneHigh;
  block[2] = 1;     // the number of values 0 .. 7
  block[6] = 0x02;  // value 1 has a minus, and so the last value has one too
  block[9] = 0x30;
  const auto out = decode(StorageType::iq2_xxs, block, 256);
  EXPECT_EQ(out[0], 0.875f * 43);
  EXPECT_EQ(out[1], -7.0f);
  EXPECT_EQ(out[2], 7.0f);
  EXPECT_EQ(out[7], -7.0f);
  EXPECT_EQ(out[32], 1.0f) << "the scale 0 is half a quarter";
}

TEST(DecodeRow, iq2_xs_has_the_ninth_bit_of_a_number_below_its_signs) {
  std::vector<uint8_t> block(74, 0);
  block[1] = kOneHigh;
  block[64] = 0xff, block[65] = 0x03;  // values 248 .. 255: number 511, and the first one has a minus
  block[73] = 0x10;                    // scale 1 of values 240 .. 255
  const auto out = decode(StorageType::iq2_xs, block, 256);
  EXPECT_EQ(out[248], -0.375f * 43);
  EXPECT_EQ(out[249], 0.375f * 43);
  EXPECT_EQ(out[255], -0.375f * 43);
  EXPECT_EQ(out[0], 1.0f);
}

TEST(DecodeRow, iq2_s_stores_every_sign) {
  std::vector<uint8_t> block(82, 0);
  block[1] = kOneHigh;
  block[2 + 5] = 0xff;   // values 40 .. 47: the low bits of number 1023
  block[34 + 5] = 0x80;  // the last of them alone has a minus
  block[66 + 1] = 0x0c;  // the high bits
  block[74 + 1] = 0x02;  // scale 2 of values 32 .. 47
  const auto out = decode(StorageType::iq2_s, block, 256);
  EXPECT_EQ(out[40], 0.625f * 43);
  EXPECT_EQ(out[47], -0.625f * 43);
  EXPECT_EQ(out[48], 1.0f);
}

// Number 255 is 4, 28, 52, 62.
TEST(DecodeRow, iq3_xxs_shares_seven_signs_between_two_points) {
  std::vector<uint8_t> block(98, 0);
  block[1] = kOneHigh;
  block[2 + 63] = 255;    // values 252 .. 255
  block[66 + 31] = 0x28;  // scale 2; the fourth seven signs are 0x40: the seventh value has a minus, and the eighth
  const auto out = decode(StorageType::iq3_xxs, block, 256);
  EXPECT_EQ(out[252], 1.25f * 4);
  EXPECT_EQ(out[253], 1.25f * 28);
  EXPECT_EQ(out[254], -1.25f * 52);
  EXPECT_EQ(out[255], -1.25f * 62);
  EXPECT_EQ(out[0], 1.0f);
}

// Number 257 is 5, 7, 9, 5.
TEST(DecodeRow, iq3_s_multiplies_odd_numbers) {
  std::vector<uint8_t> block(110, 0);
  block[1] = kOneHigh;
  block[2 + 9] = 1;      // values 36 .. 39
  block[66 + 1] = 0x02;  // the high bit
  block[74 + 4] = 0x40;  // value 38 has a minus
  block[106] = 0x30;     // scale 7 of values 32 .. 63
  const auto out = decode(StorageType::iq3_s, block, 256);
  EXPECT_EQ(out[36], 35.0f);
  EXPECT_EQ(out[37], 49.0f);
  EXPECT_EQ(out[38], -63.0f);
  EXPECT_EQ(out[39], 35.0f);
  EXPECT_EQ(out[0], 1.0f);
}

// Number 1024 is 0, 1, -1, then zeros.
TEST(DecodeRow, iq1_s_moves_points_by_an_eighth) {
  std::vector<uint8_t> block(50, 0);
  block[1] = kOneHigh;
  block[34 + 2] = 0x20, block[34 + 3] = 0xa0;  // values 40 .. 47: high bits 4; scale 5, downwards
  const auto out = decode(StorageType::iq1_s, block, 256);
  EXPECT_EQ(out[40], 5 * -0.125f);
  EXPECT_EQ(out[41], 5 * 0.875f);
  EXPECT_EQ(out[42], 5 * -1.125f);
  EXPECT_EQ(out[0], -0.875f);
}

TEST(DecodeRow, iq1_m_collects_its_scale_from_four_places) {
  std::vector<uint8_t> block(56, 0);
  block[53] = 0xc0, block[55] = 0x30;  // 0x3c00 is 1
  block[32] = 0xc0;                    // values 8 .. 15: high bits 4, downwards
  block[48] = 0x01;                    // scale 3 of values 0 .. 15
  const auto out = decode(StorageType::iq1_m, block, 256);
  EXPECT_EQ(out[0], 3 * -0.875f);
  EXPECT_EQ(out[8], 3 * -0.125f);
  EXPECT_EQ(out[9], 3 * 0.875f);
  EXPECT_EQ(out[16], -0.875f);
  block[49] = 0x10, block[51] = 0x20;  // 0x3c21
  EXPECT_EQ(decode(StorageType::iq1_m, block, 256)[16], -0.875f * (1 + 33.0f / 1024));
}

// 2 1 0 1 2 in base 3 is 194; as a fraction of 243, rounded up, it is 205 of 256.
TEST(DecodeRow, tq1_0_reads_five_digits_of_a_byte) {
  std::vector<uint8_t> block(54, 0);
  block[53] = kOneHigh;
  block[3] = 205;
  block[32 + 15] = 205;
  block[48] = 205;
  const auto out = decode(StorageType::tq1_0, block, 256);
  for (const int first : {3, 160 + 15}) {
    const int apart = first == 3 ? 32 : 16;
    const float digits[] = {1, 0, -1, 0, 1};
    for (int n = 0; n < 5; ++n) EXPECT_EQ(out[first + apart * n], digits[n]) << first << " " << n;
  }
  EXPECT_EQ(out[240], 1.0f);
  EXPECT_EQ(out[244], 0.0f);
  EXPECT_EQ(out[252], 0.0f);
  EXPECT_EQ(out[255], -1.0f);
}

TEST(DecodeRow, tq2_0_subtracts_one_from_two_bits) {
  std::vector<uint8_t> block(66, 0x55);
  block[64] = 0, block[65] = kTwoHigh;
  block[33] = 0xe4;  // values 129, 161, 193 and 225: 0 to 3
  const auto out = decode(StorageType::tq2_0, block, 256);
  EXPECT_EQ(out[129], -2.0f);
  EXPECT_EQ(out[161], 0.0f);
  EXPECT_EQ(out[193], 2.0f);
  EXPECT_EQ(out[225], 4.0f);
  EXPECT_EQ(out[0], 0.0f);
}

TEST(DecodeRow, q2_0_has_four_values_of_a_byte_side_by_side) {
  std::vector<uint8_t> block(18, 0x55);
  block[0] = 0, block[1] = kTwoHigh;
  block[3] = 0xe4;  // values 4 to 7: 0 to 3
  const auto out = decode(StorageType::q2_0, block, 64);
  EXPECT_EQ(out[3], 0.0f);
  EXPECT_EQ(out[4], -2.0f);
  EXPECT_EQ(out[5], 0.0f);
  EXPECT_EQ(out[6], 2.0f);
  EXPECT_EQ(out[7], 4.0f);
}

TEST(DecodeRow, q1_0_has_a_sign_in_every_bit) {
  std::vector<uint8_t> block(18, 0);
  block[0] = 0, block[1] = kTwoHigh;
  block[3] = 0x05;  // values 8 and 10
  block[17] = 0x80;
  const auto out = decode(StorageType::q1_0, block, 128);
  EXPECT_EQ(out[7], -2.0f);
  EXPECT_EQ(out[8], 2.0f);
  EXPECT_EQ(out[9], -2.0f);
  EXPECT_EQ(out[10], 2.0f);
  EXPECT_EQ(out[126], -2.0f);
  EXPECT_EQ(out[127], 2.0f);
}

}  // namespace
}  // namespace tandem
