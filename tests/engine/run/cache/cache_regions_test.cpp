// Checks the places of pages and cells in a KV cache by numbers worked out by hand.
#include "engine/run/cache/cache_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "sync/pool.h"

namespace tandem {
namespace {

// Two KV heads, 3 values in a key and 5 in a value, 4 pages. A page of f16 keys has 256 * 3 * 2 = 1,536 bytes, one of
// values 2,560. A head has four of each: 6,144 and 10,240 bytes.
class CacheRegions : public ::testing::Test {
 protected:
  CacheRegions() : cache_(kv_cache(KvType::f16, 2, 3, 5, 1024, 4)) {
    cache_.k = {&pool_.acquire(cache_.k_bytes(), sync::SlotUse::device_local, "keys"), 0};
    cache_.v = {&pool_.acquire(cache_.v_bytes(), sync::SlotUse::device_local, "values"), 0};
    for (const Operand& heads : {cache_.k, cache_.v}) {
      auto* values = heads.as<uint16_t>();
      std::iota(values, values + heads.slot->size_bytes() / sizeof(uint16_t), uint16_t{0});
    }
  }
  sync::Pool pool_;
  KvCache cache_;
};

TEST_F(CacheRegions, of_a_page_have_a_row_for_each_head) {
  const int32_t page = 3;
  const std::vector<Region> regions = regions_of_pages(std::span(&cache_, 1), std::span(&page, 1));
  ASSERT_EQ(regions.size(), 2U);
  EXPECT_EQ(regions[0].at.offset_bytes, 3U * 1536);
  EXPECT_EQ(regions[0].rows, 2);
  EXPECT_EQ(regions[0].width_bytes, 1536U);
  EXPECT_EQ(regions[0].pitch_bytes, 6144U);
  EXPECT_EQ(regions[1].at.offset_bytes, 3U * 2560);
  EXPECT_EQ(regions[1].width_bytes, 2560U);
  EXPECT_EQ(regions[1].pitch_bytes, 10240U);
}

// Cell 21 is position 5 of the second block of 16. Its key begins at element (1 * 3 + 0) * 16 + 5 = 53, and the next
// element of the key is 16 further. Its value begins at 21 * 5 = 105. The second head begins 4 * 256 * 3 = 3,072 and
// 4 * 256 * 5 = 5,120 elements later.
TEST_F(CacheRegions, of_a_cell_have_a_row_for_each_element_of_a_key) {
  const std::vector<SlotCopy> copies = copies_of_cell(cache_, 21, 2);
  ASSERT_EQ(copies.size(), 4U);
  EXPECT_EQ(copies[0].from.at.offset_bytes, 53U * 2);
  EXPECT_EQ(copies[0].from.rows, 3);
  EXPECT_EQ(copies[0].from.width_bytes, 2U);
  EXPECT_EQ(copies[0].from.pitch_bytes, 32U);
  EXPECT_EQ(copies[0].to.offset_bytes, 2U * 2);
  EXPECT_EQ(copies[1].from.at.offset_bytes, 105U * 2);
  EXPECT_EQ(copies[1].from.rows, 1);
  EXPECT_EQ(copies[1].from.width_bytes, 10U);
  EXPECT_EQ(copies[1].to.offset_bytes, 10U * 2);
  EXPECT_EQ(copies[2].from.at.offset_bytes, (3072U + 53) * 2);
  EXPECT_EQ(copies[3].from.at.offset_bytes, (5120U + 105) * 2);
}

TEST_F(CacheRegions, are_copied_in_the_pool) {
  copy_in_pool(copies_of_cell(cache_, 21, 2));
  const auto* k = cache_.k.as<uint16_t>();
  const auto* v = cache_.v.as<uint16_t>();
  for (int64_t head = 0; head < 2; ++head) {
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(k[cache_.k_index(2, head, i)], cache_.k_index(21, head, i));
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(v[cache_.v_index(2, head, i)], cache_.v_index(21, head, i));
  }
  EXPECT_EQ(k[cache_.k_index(3, 0, 0)], cache_.k_index(3, 0, 0)) << "its neighbour";
  copy_in_pool(copies_of_page(std::span(&cache_, 1), 1, 0));
  for (int64_t head = 0; head < 2; ++head) {
    EXPECT_EQ(k[cache_.k_index(255, head, 2)], cache_.k_index(511, head, 2));
    EXPECT_EQ(v[cache_.v_index(0, head, 4)], cache_.v_index(256, head, 4));
    EXPECT_EQ(v[cache_.v_index(512, head, 0)], cache_.v_index(512, head, 0)) << "another page";
  }
}

}  // namespace
}  // namespace tandem
