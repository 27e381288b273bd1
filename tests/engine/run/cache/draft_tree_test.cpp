// Trees of drafts, without an engine.
#include "engine/run/cache/draft_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/pool.h"
#include "tests/engine/run/host_engine.h"

namespace tandem::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Tokens 0 and 1 are roots. 2 and 3 follow 1, and 4 follows 3.
const std::vector<int32_t> kParents{-1, -1, 1, 1, 3};

TEST(DraftTree, has_a_path_to_every_token) {
  EXPECT_THAT(path_to(kParents, 0), ElementsAre(0));
  EXPECT_THAT(path_to(kParents, 2), ElementsAre(1, 2));
  EXPECT_THAT(path_to(kParents, 4), ElementsAre(1, 3, 4));
}

TEST(DraftTree, is_left_by_a_path_that_is_not_of_it) {
  const auto message = [](const std::vector<int32_t>& path) { return message_of([&] { check_path(kParents, path); }); };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({1, 3, 4}), "");
  EXPECT_THAT(message({3, 4}), HasSubstr("leaves its tree: token 3, its parent 1, before it on the path -1"));
  EXPECT_THAT(message({1, 4}), HasSubstr("token 4, its parent 3, before it on the path 1"));
  EXPECT_THAT(message({0, 1}), HasSubstr("leaves its tree"));
  EXPECT_THAT(message({5}), HasSubstr("not of the tree: 5 of 5"));
  EXPECT_THAT(message({-1}), HasSubstr("not of the tree"));
}

TEST(DraftTree, has_so_many_tokens_and_no_longer_paths) {
  std::vector<int32_t> chain;
  for (int32_t i = 0; i < kMostTreeDepth; ++i) chain.push_back(i - 1);
  const auto message = [](const std::vector<int32_t>& parents) {
    return message_of([&] { check_parents(parents, std::ssize(parents)); });
  };
  EXPECT_EQ(message(chain), "");
  chain.push_back(5);
  EXPECT_EQ(message(chain), "");
  chain.push_back(static_cast<int32_t>(kMostTreeDepth) - 1);
  EXPECT_THAT(message(chain), HasSubstr("too deep"));
  EXPECT_EQ(message(std::vector<int32_t>(kMostDrafts, -1)), "");
  EXPECT_THAT(message(std::vector<int32_t>(kMostDrafts + 1, -1)), HasSubstr("too large"));
}

// Copies a cell of a cache of this type: 2 heads, keys of 3 values and values of 2, two pages.
template <typename T>
void copies_one_cell_alone(KvType type) {
  sync::Pool pool;
  KvCache cache = kv_cache(type, 2, 3, 2, 512);
  cache.k = {&pool.acquire(cache.k_bytes(), sync::SlotUse::activations, "k"), 0};
  cache.v = {&pool.acquire(cache.v_bytes(), sync::SlotUse::activations, "v"), 0};
  const int64_t cells = 2 * 512;  // of both heads
  auto *k = cache.k.as<T>(), *v = cache.v.as<T>();
  for (int64_t i = 0; i < cells * 3; ++i) k[i] = static_cast<T>(i % 2048);
  for (int64_t i = 0; i < cells * 2; ++i) v[i] = static_cast<T>(i % 2048);
  const std::vector<T> k_before(k, k + cells * 3), v_before(v, v + cells * 2);
  copy_cell(cache, 261, 254);
  for (int64_t cell = 0; cell < 512; ++cell)
    for (int64_t head = 0; head < 2; ++head) {
      const int64_t from = cell == 254 ? 261 : cell;
      for (int64_t i = 0; i < 3; ++i)
        ASSERT_EQ(k[cache.k_index(cell, head, i)], k_before[static_cast<size_t>(cache.k_index(from, head, i))]) << cell;
      for (int64_t i = 0; i < 2; ++i)
        ASSERT_EQ(v[cache.v_index(cell, head, i)], v_before[static_cast<size_t>(cache.v_index(from, head, i))]) << cell;
    }
}

TEST(DraftTree, is_copied_cell_by_cell) {
  copies_one_cell_alone<uint16_t>(KvType::f16);
  copies_one_cell_alone<float>(KvType::f32);
}

}  // namespace
}  // namespace tandem::testing
