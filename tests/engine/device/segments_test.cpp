// The tokens of a batch that belong to one sequence, and the places of the sequence's keys and values.
#include "engine/device/operators/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "engine/device/operator.h"
#include "sync/error.h"
#include "sync/pool.h"

namespace tandem {
namespace {

struct Batches : ::testing::Test {
  Operand put(const std::vector<int32_t>& values) {
    sync::Slot& slot = pool.acquire(values.size() * 4, sync::SlotUse::activations, "segments");
    std::memcpy(slot.as<int32_t>(), values.data(), values.size() * 4);
    return {&slot, 0};
  }
  Segments of(const std::vector<int32_t>& begins, int64_t first_token = 0) {
    return {std::ssize(begins) - 1, first_token, put(begins), {}};
  }
  sync::Pool pool;
};

std::vector<int64_t> values_of(const QueryTile& tile) {
  return {tile.segment, tile.first_token, tile.last_token, tile.begin, tile.end};
}

// The segments have 3, 0, 1 and 2 tokens with 3 queries each, in tiles of 4. 9 queries make three tiles, 3 make one, 6
// make two.
TEST_F(Batches, are_cut_into_tiles_of_one_sequence_each) {
  const Segments segments = of({0, 3, 3, 4, 6});
  const auto tile = [&](int64_t n) { return values_of(query_tile(segments, 6, 3, 4, n)); };
  EXPECT_EQ(tile(0), (std::vector<int64_t>{0, 0, 2, 0, 4}));
  EXPECT_EQ(tile(1), (std::vector<int64_t>{0, 0, 2, 4, 8}));
  EXPECT_EQ(tile(2), (std::vector<int64_t>{0, 0, 2, 8, 9}));
  EXPECT_EQ(tile(3), (std::vector<int64_t>{2, 3, 3, 0, 3}));
  EXPECT_EQ(tile(4), (std::vector<int64_t>{3, 4, 5, 0, 4}));
  EXPECT_EQ(tile(5), (std::vector<int64_t>{3, 4, 5, 4, 6}));
  EXPECT_EQ(query_tile(segments, 6, 3, 4, 6).end, 0);
  EXPECT_EQ(most_tiles(segments, 6, 3, 4), 7) << "(18 + 4 * 3) / 4";
}

TEST_F(Batches, of_a_slice_have_the_slices_tokens) {
  // The slice has tokens 2 to 4 of those above: one of the first segment, one of the third, one of the last.
  const Segments segments = of({0, 3, 3, 4, 6}, 2);
  EXPECT_EQ(values_of(query_tile(segments, 3, 1, 8, 0)), (std::vector<int64_t>{0, 0, 0, 0, 1}));
  EXPECT_EQ(values_of(query_tile(segments, 3, 1, 8, 1)), (std::vector<int64_t>{2, 1, 1, 0, 1}));
  EXPECT_EQ(values_of(query_tile(segments, 3, 1, 8, 2)), (std::vector<int64_t>{3, 2, 2, 0, 1}));
  EXPECT_EQ(segment_of(segments, 0), 0);
  EXPECT_EQ(segment_of(segments, 1), 2);
  EXPECT_EQ(segment_of(segments, 2), 3);
}

TEST_F(Batches, of_one_sequence_read_no_begins) {
  const Segments one{1, 7, {}, {}};
  EXPECT_EQ(values_of(query_tile(one, 5, 3, 4, 3)), (std::vector<int64_t>{0, 0, 4, 12, 15}));
  EXPECT_EQ(most_tiles(one, 5, 3, 4), 4);
  EXPECT_EQ(segment_of(one, 4), 0);
}

TEST_F(Batches, have_every_query_in_one_tile_however_they_are_shared_out) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const auto below = [&](int64_t end) { return std::uniform_int_distribution<int64_t>(0, end - 1)(random); };
    const int64_t S = 1 + below(20), count = 1 + below(8), group = 1 + below(5), size = 1 + below(8);
    std::vector<int32_t> begins{0};
    for (int64_t i = 1; i < count; ++i) begins.push_back(static_cast<int32_t>(below(S + 1)));
    begins.push_back(static_cast<int32_t>(S));
    std::sort(begins.begin(), begins.end());
    const Segments segments = of(begins);
    std::vector<int> seen(static_cast<size_t>(S * group));
    for (int64_t n = 0; n < most_tiles(segments, S, group, size); ++n) {
      const QueryTile tile = query_tile(segments, S, group, size, n);
      for (int64_t q = tile.begin; q < tile.end; ++q) {
        const int64_t token = tile.first_token + q / group;
        ++seen[static_cast<size_t>(token * group + q % group)];
        ASSERT_EQ(segment_of(segments, token), tile.segment);
      }
    }
    ASSERT_THAT(seen, ::testing::Each(1)) << "round " << round;
  }
}

TEST_F(Batches, find_positions_in_the_pages_of_the_table) {
  KvCache cache = kv_cache(KvType::f16, 2, 16, 20, 600, 9);
  Segments segments = of({0, 1, 2});
  segments.pages = put({4, 0, 8, 2, 9, -1});
  EXPECT_EQ(cell_of(segments, cache, 0, 0), 4 * 256);
  EXPECT_EQ(cell_of(segments, cache, 0, 513), 8 * 256 + 1);
  EXPECT_EQ(cell_of(segments, cache, 1, 255), 2 * 256 + 255);
  EXPECT_THROW(cell_of(segments, cache, 1, 256), Error) << "page 9 of 9";
  EXPECT_THROW(cell_of(segments, cache, 1, 512), Error);
  // Position 17 of page 2 is lane 1 of block 1 of 16. Head 1 lies behind the nine pages of head 0.
  EXPECT_EQ(cache.k_index(2 * 256 + 17, 1, 3), ((9 + 2) * 16 + 1) * 16 * 16 + 3 * 16 + 1);
  EXPECT_EQ(cache.v_index(2 * 256 + 17, 1, 3), ((9 + 2) * 256 + 17) * 20 + 3);
  EXPECT_EQ(cache.k_bytes(), 9u * 2 * 256 * 16 * 2);
  EXPECT_EQ(cache.v_bytes(), 9u * 2 * 256 * 20 * 2);
}

// A text has 254 positions, and a tree of five tokens lies at places 254 to 258. Tokens 0 and 1 are roots, 2 and 3
// follow 1, and 4 follows 3. Segment 0 is a text. Segments 1 to 3 are tokens 1, 3 and 4.
TEST_F(Batches, with_a_tree_find_positions_at_the_places_of_its_paths) {
  KvCache cache = kv_cache(KvType::f16, 1, 16, 16, 512, 9);
  Segments segments = of({0, 1, 2, 3, 4});
  segments.pages = put({4, 0, 7, 2, 7, 2, 7, 2});
  segments.depth = 3;
  segments.paths = put({kNoTree, -1, -1, -1, 254, 255, -1, -1, 254, 255, 257, -1, 254, 255, 257, 258});
  EXPECT_EQ(tree_begin(segments, 0), kNoTree);
  EXPECT_EQ(tree_begin(segments, 3), 254);
  EXPECT_EQ(place_of(segments, 0, 300), 300);
  EXPECT_EQ(place_of(segments, 1, 253), 253);
  EXPECT_EQ(place_of(segments, 1, 254), 255);
  EXPECT_EQ(place_of(segments, 2, 255), 257);
  EXPECT_EQ(place_of(segments, 3, 254), 255);
  EXPECT_EQ(place_of(segments, 3, 255), 257);
  EXPECT_EQ(place_of(segments, 3, 256), 258);
  EXPECT_EQ(cell_of(segments, cache, 2, 254), 7 * 256 + 255);
  EXPECT_EQ(cell_of(segments, cache, 2, 255), 2 * 256 + 1) << "of the page before its place's";
  EXPECT_THROW(cell_of(segments, cache, 2, 256), Error) << "place -1";
  segments.depth = 0;
  EXPECT_EQ(place_of(segments, 3, 256), 256);
}

TEST_F(Batches, cut_by_tokens_say_where_the_slice_begins) {
  KvAppend append;
  append.S = 6, append.segments = of({0, 3, 6});
  const Operator twice = slice_tokens(slice_tokens({"a", append}, 2, 6), 1, 3);
  EXPECT_EQ(std::get<KvAppend>(twice.body).segments.first_token, 3);
  append.segments = {1, 0, {}, {}};
  EXPECT_EQ(std::get<KvAppend>(slice_tokens({"a", append}, 2, 6).body).segments.first_token, 0)
      << "of one sequence all slices are alike";
}

// Eight tokens belong to four sequences with 100 earlier positions each. The two tokens of a sequence see 101 and
// 102 positions.
TEST_F(Batches, of_many_sequences_see_the_positions_of_each) {
  Attention op;
  op.S = 8, op.heads = 1, op.cache = kv_cache(KvType::f16, 1, 16, 16, 640);
  op.segments.count = 4;
  EXPECT_EQ(op.seen(100).pairs, 4 * (101 + 102));
  EXPECT_EQ(op.seen(100).positions, 4 * 102);
}

}  // namespace
}  // namespace tandem
