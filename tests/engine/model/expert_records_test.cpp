// Checksums of experts' records.
#include "engine/model/expert_records.h"

#include <gtest/gtest.h>

#include <array>

namespace tandem {
namespace {

std::array<std::byte, 4096> record() {
  std::array<std::byte, 4096> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 % 251);
  seal_record(bytes, 3, 5);
  return bytes;
}

TEST(ExpertRecords, are_intact_where_they_were_sealed) {
  const auto bytes = record();
  EXPECT_TRUE(is_intact(bytes, 3, 5));
}

TEST(ExpertRecords, are_damaged_by_any_bit) {
  for (size_t i = 0; i < 4096; i += 37) {
    auto bytes = record();
    bytes[i] ^= std::byte{1};
    EXPECT_FALSE(is_intact(bytes, 3, 5)) << i;
  }
  auto bytes = record();
  bytes.back() ^= std::byte{128};
  EXPECT_FALSE(is_intact(bytes, 3, 5)) << "the checksum itself";
}

TEST(ExpertRecords, of_another_layer_or_expert_are_noticed) {
  const auto bytes = record();
  EXPECT_FALSE(is_intact(bytes, 4, 5));
  EXPECT_FALSE(is_intact(bytes, 3, 6));
  EXPECT_FALSE(is_intact(bytes, 5, 3));
}

TEST(ExpertRecords, keep_every_byte_but_the_last_eight) {
  std::array<std::byte, 64> bytes{};
  bytes.fill(std::byte{9});
  seal_record(bytes, 0, 0);
  for (size_t i = 0; i < 56; ++i) EXPECT_EQ(bytes[i], std::byte{9});
}

}  // namespace
}  // namespace tandem
