// Values of pseudo-random blocks beside those of the package `gguf` (tests/data/storage-types/record.py), by checksum.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "engine/tensor/block_scales.h"
#include "engine/tensor/types.h"
#include "tests/support/data.h"

namespace tandem {
namespace {

// The top bytes of a linear congruential generator's states. The exponents of halves lose their topmost bit.
std::vector<uint8_t> recorded_blocks(StorageType type, size_t count) {
  const size_t size = info(type).block_bytes;
  std::vector<uint8_t> blocks(count * size);
  auto state = static_cast<uint32_t>(type);
  for (uint8_t& byte : blocks) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(state >> 24);
  }
  const BlockScales& scales = *block_scales(type);
  for (size_t at = 0; at < blocks.size(); at += size) {
    if (scales.form == ScaleForm::half) blocks[at + scales.scale + 1] &= 0xbf;
    if (scales.form == ScaleForm::exponent) blocks[at + scales.scale] &= 0xbf;
    if (scales.form == ScaleForm::nibbles) blocks[at + scales.scale + 7] &= 0xbf;
    if (scales.minimum) blocks[at + *scales.minimum + 1] &= 0xbf;
  }
  return blocks;
}

// FNV-1a over words of 32 bits.
std::string checksum(const std::vector<float>& values) {
  uint64_t result = 0xcbf29ce484222325;
  for (const float value : values) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    result = (result ^ word) * 0x100000001b3;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(result));
  return text;
}

TEST(PublishedValues, are_those_of_the_format_in_every_type_with_blocks) {
  std::ifstream recorded(testing::repository_data("storage-types/values.txt"));
  std::set<StorageType> seen;
  std::string name, expected;
  for (size_t count; recorded >> name >> count >> expected;) {
    const StorageType type = storage_type_named(name);
    seen.insert(type);
    const std::vector<uint8_t> blocks = recorded_blocks(type, count);
    std::vector<float> values(count * info(type).block_values);
    decode_row(type, blocks.data(), values.data(), static_cast<int64_t>(values.size()));
    EXPECT_EQ(checksum(values), expected) << name;
  }
  for (const StorageTypeInfo& type : storage_types())
    EXPECT_EQ(seen.contains(type.type), block_scales(type.type) != nullptr) << type.name;
}

}  // namespace
}  // namespace tandem
