// KV caches on GPU devices: the longest ones whose loops are proven, odd head sizes, positions in any order.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "shaders/limits.h"
#include "tests/engine/device/gpu/gpu_bench.h"

namespace tandem::testing {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

void store(const KvCache& cache, const Operand& at, int64_t index, float value) {
  if (cache.type == KvType::f16)
    at.as<uint16_t>()[index] = float_to_half(value);
  else
    at.as<float>()[index] = value;
}

// The pages lie in falling order.
int64_t cell_of(const KvCache& cache, int64_t position) {
  return (cache.pages - 1 - position / kCachePage) * kCachePage + position % kCachePage;
}
int64_t key_index(const KvCache& cache, int64_t h, int64_t position, int64_t d) {
  return cache.k_index(cell_of(cache, position), h, d);
}
int64_t value_index(const KvCache& cache, int64_t h, int64_t position, int64_t d) {
  return cache.v_index(cell_of(cache, position), h, d);
}

class Caches : public GpuBench {
 protected:
  KvCache make_cache(KvType type, int64_t kv_heads, int64_t head_dim, int64_t head_dim_v, int64_t capacity) {
    KvCache cache = kv_cache(type, kv_heads, head_dim, head_dim_v, capacity);
    cache.k = take(cache.k_bytes(), "cache k"), cache.v = take(cache.v_bytes(), "cache v");
    return cache;
  }
  Segments pages_of_cache(const KvCache& cache) {
    Segments segments;
    segments.pages = take(static_cast<size_t>(cache.pages) * 4, "pages");
    for (int64_t page = 0; page < cache.pages; ++page)
      segments.pages.as<int32_t>()[page] = static_cast<int32_t>(cache.pages - 1 - page);
    return segments;
  }

  // S tokens at the last positions but one. The last position holds NaN, and no token sees it.
  Attention make_attention(const KvCache& cache, int64_t S, int64_t heads, bool scratch) {
    Attention op;
    op.S = S, op.heads = heads, op.cache = cache, op.score.scale = 0.5f;
    op.segments = pages_of_cache(cache);
    op.q_stride = heads * cache.head_dim, op.y_stride = heads * cache.head_dim_v;
    op.q = take(static_cast<size_t>(S * op.q_stride) * 4, "q"),
    op.y = take(static_cast<size_t>(S * op.y_stride) * 4, "y");
    op.positions = take(static_cast<size_t>(S) * 4, "positions");
    if (scratch)
      op.scratch = take(attention_scratch_bytes(S, heads, cache.head_dim_v, cache.capacity), "scratch",
                        sync::SlotUse::device_local);
    for (int64_t s = 0; s < S; ++s) op.positions.as<int32_t>()[s] = static_cast<int32_t>(cache.capacity - 1 - S + s);
    return op;
  }
};

// Every score is 0, except at each seventh position. The key there has -500 in one dimension, so its weight is exactly
// 0. The result is the mean of small integers.
bool is_hidden(int64_t position) { return position % 7 == 3; }
int64_t value_of(int64_t h, int64_t position, int64_t d) { return (position + 2 * h + d) % 5 - 1; }

void fill_means(const Attention& op) {
  const KvCache& cache = op.cache;
  std::fill_n(op.q.as<float>(), op.S * op.q_stride, 1.0f);
  for (int64_t h = 0; h < cache.kv_heads; ++h) {
    for (int64_t p = 0; p < cache.capacity; ++p) {
      const bool last = p == cache.capacity - 1;
      for (int64_t d = 0; d < cache.head_dim; ++d)
        store(cache, cache.k, key_index(cache, h, p, d),
              last                                      ? kNaN
              : is_hidden(p) && p % cache.head_dim == d ? -500.0f
                                                        : 0.0f);
      for (int64_t d = 0; d < cache.head_dim_v; ++d)
        store(cache, cache.v, value_index(cache, h, p, d), last ? kNaN : static_cast<float>(value_of(h, p, d)));
    }
  }
}

void expect_means(const Attention& op) {
  const KvCache& cache = op.cache;
  for (int64_t s = 0; s < op.S; ++s) {
    for (int64_t head = 0; head < op.heads; ++head) {
      for (int64_t d = 0; d < cache.head_dim_v; ++d) {
        int64_t sum = 0, count = 0;
        for (int64_t p = 0; p <= op.positions.as<int32_t>()[s]; ++p) {
          if (is_hidden(p)) continue;
          sum += value_of(head / (op.heads / cache.kv_heads), p, d);
          ++count;
        }
        ASSERT_FLOAT_EQ(op.y.as<float>()[s * op.y_stride + head * cache.head_dim_v + d],
                        static_cast<float>(sum) / static_cast<float>(count))
            << "token " << s << " head " << head << " element " << d;
      }
    }
  }
}

TEST_P(Caches, of_any_length_and_head_are_attended_to_to_the_last_position_or_refused_with_a_reason) {
  struct Shape {
    KvType type;
    int64_t S, heads, kv_heads, head_dim, head_dim_v, capacity;
    bool must_run;
  };
  for (const Shape& shape :
       {Shape{KvType::f16, 1, 2, 1, 64, 64, 131072, true}, Shape{KvType::f16, 1, 1, 1, 256, 256, 131072, true},
        Shape{KvType::f32, 1, 1, 1, 256, 256, 65536, true}, Shape{KvType::f16, 3, 6, 2, 33, 17, 4096, true},
        Shape{KvType::f32, 5, 2, 1, 7, 5, 2048, true},
        // The queries are enough for one work-group to run through all splits in turn.
        Shape{KvType::f16, 8, 8, 1, TANDEM_MAX_HEAD_DIM, TANDEM_MAX_HEAD_DIM,
              TANDEM_MAX_SPLITS_IN_TURN * kAttentionSplit, true},
        Shape{KvType::f16, 1, 1, 1, TANDEM_MAX_HEAD_DIM + 1, 3, 64, false},
        Shape{KvType::f16, 1, 1, 1, 16, 16, 2 * TANDEM_MAX_POSITIONS, false}}) {
    SCOPED_TRACE("head_dim " + std::to_string(shape.head_dim) + " capacity " + std::to_string(shape.capacity));
    const KvCache cache = make_cache(shape.type, shape.kv_heads, shape.head_dim, shape.head_dim_v, shape.capacity);
    const Attention op = make_attention(cache, shape.S, shape.heads, true);
    fill_means(op);
    const bool ran = run_or_refuse({"attention", op});
    if (ran) expect_means(op);
    EXPECT_TRUE(ran || !shape.must_run);
  }
}

TEST_P(Caches, without_scratch_give_the_bits_they_give_with_it_or_are_refused_with_a_reason) {
  std::mt19937 random(3);
  for (int64_t capacity : {1024, 4096}) {
    const KvCache cache = make_cache(KvType::f16, 2, 20, 12, capacity);
    const Attention with = make_attention(cache, 2, 6, true);
    Attention without = with;
    without.scratch = {}, without.y = take(static_cast<size_t>(with.S * with.y_stride) * 4, "y");
    fill_means(with);
    const auto q = random_floats(random, with.S * with.q_stride, 2.0f);
    std::copy(q.begin(), q.end(), with.q.as<float>());
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t p = 0; p < capacity - 16; ++p)
        for (int64_t d = 0; d < 20; ++d)
          store(cache, cache.k, key_index(cache, h, p, d), random_floats(random, 1, 1.0f)[0]);
    run({"attention", with});
    if (!run_or_refuse({"attention", without})) {
      EXPECT_GT(capacity, 1024);
      continue;
    }
    for (int64_t i = 0; i < with.S * with.y_stride; ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(with.y.as<float>()[i]), std::bit_cast<uint32_t>(without.y.as<float>()[i])) << i;
  }
}

// Tokens on both sides of a split's end share a tile. Two of them see nothing of the second split, and no token sees
// the third. Scores of the second split equal those of the first, or are so much larger or smaller that only one split
// counts: the weights of the other are exactly 0.
class SplitCaches : public Caches {
 protected:
  // boost: added to every visible score of the second split.
  void fill_splits(const Attention& op, float boost) {
    const KvCache& cache = op.cache;
    fill_means(op);
    for (int64_t s = 0; s < op.S; ++s) op.positions.as<int32_t>()[s] = static_cast<int32_t>(kAttentionSplit - 2 + s);
    const int64_t seen = kAttentionSplit - 2 + op.S;  // positions that some token sees; the others hold NaN
    for (int64_t h = 0; h < cache.kv_heads; ++h) {
      for (int64_t p = kAttentionSplit; p < cache.capacity; ++p) {
        for (int64_t d = 0; p >= seen && d < cache.head_dim_v; ++d)
          store(cache, cache.v, value_index(cache, h, p, d), kNaN);
        for (int64_t d = 0; d < cache.head_dim; ++d) {
          if (p >= seen) store(cache, cache.k, key_index(cache, h, p, d), kNaN);
          if (p < seen && !is_hidden(p) && d == 0)
            store(cache, cache.k, key_index(cache, h, p, d), boost / op.score.scale);
        }
      }
    }
  }
  // The mean of the values that count for a token. With a positive boost the last split that it sees counts, with a
  // negative one the first split.
  double expected(const Attention& op, int64_t s, int64_t head, int64_t d, float boost) const {
    const int64_t last = op.positions.as<int32_t>()[s];
    const bool both = last >= kAttentionSplit;
    double sum = 0, count = 0;
    for (int64_t p = both && boost > 0 ? kAttentionSplit : 0; p <= last; ++p) {
      if (is_hidden(p) || (boost < 0 && p >= kAttentionSplit)) continue;
      sum += static_cast<double>(value_of(head / (op.heads / op.cache.kv_heads), p, d));
      ++count;
    }
    return sum / count;
  }
};

TEST_P(SplitCaches, give_each_query_of_a_tile_what_it_sees_in_turn_and_merged) {
  for (const bool merged : {false, true}) {
    // If a driver counts loop iterations (lavapipe), a cache of so many splits is merged whatever the number of units.
    const int64_t splits = merged ? TANDEM_MAX_SPLITS_IN_TURN + 1 : 3;
    const KvCache cache = make_cache(KvType::f16, 2, 16, 20, splits * kAttentionSplit);
    const Attention op = make_attention(cache, 4, 2, merged);
    for (const float boost : {0.0f, 200.0f, -200.0f}) {
      SCOPED_TRACE(std::string(merged ? "merged" : "in turn") + ", boost " + std::to_string(boost));
      fill_splits(op, boost);
      if (merged) std::fill_n(op.scratch.as<float>(), op.scratch.slot->size_bytes() / sizeof(float), kNaN);
      run({"attention", op});
      for (int64_t s = 0; s < op.S; ++s)
        for (int64_t head = 0; head < op.heads; ++head)
          for (int64_t d = 0; d < cache.head_dim_v; ++d)
            ASSERT_FLOAT_EQ(op.y.as<float>()[s * op.y_stride + head * cache.head_dim_v + d],
                            static_cast<float>(expected(op, s, head, d, boost)))
                << "token " << s << " head " << head << " element " << d;
    }
  }
}

// A weight of zero does not help: the last token's value is infinite, and only that token may see it.
TEST_P(SplitCaches, keep_what_only_the_last_token_of_a_tile_sees_from_the_others) {
  const KvCache cache = make_cache(KvType::f16, 1, 16, 20, 3 * kAttentionSplit);
  const Attention op = make_attention(cache, 4, 1, false);
  fill_splits(op, 0);
  const int64_t last = op.S - 1;
  for (int64_t d = 0; d < cache.head_dim_v; ++d)
    store(cache, cache.v, value_index(cache, 0, op.positions.as<int32_t>()[last], d), kInfinity);
  run({"attention", op});
  for (int64_t s = 0; s < op.S; ++s)
    for (int64_t d = 0; d < cache.head_dim_v; ++d)
      ASSERT_FLOAT_EQ(op.y.as<float>()[s * op.y_stride + d],
                      s == last ? kInfinity : static_cast<float>(expected(op, s, 0, d, 0)))
          << "token " << s << " element " << d;
}

INSTANTIATE_TEST_SUITE_P(Devices, SplitCaches, ::testing::ValuesIn(gpu_targets()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(Caches, are_written_at_positions_in_any_order_and_nowhere_else) {
  for (KvType type : {KvType::f16, KvType::f32}) {
    for (const auto& [head_dim, head_dim_v] : {std::pair<int64_t, int64_t>{5, 17}, {17, 1}, {1, 6}}) {
      SCOPED_TRACE("heads of " + std::to_string(head_dim) + " and " + std::to_string(head_dim_v));
      const std::vector<int32_t> positions{40, 7, 256, 41, 63, 0, 319, 9};
      KvAppend op;
      op.S = std::ssize(positions);
      op.cache = make_cache(type, 3, head_dim, head_dim_v, 320);
      op.segments = pages_of_cache(op.cache);
      op.k_stride = 3 * head_dim + 1, op.v_stride = 3 * head_dim_v + 2;
      op.k = take(static_cast<size_t>(op.S * op.k_stride) * 4, "k");
      op.v = take(static_cast<size_t>(op.S * op.v_stride) * 4, "v");
      op.positions = take(positions.size() * 4, "positions");
      std::copy(positions.begin(), positions.end(), op.positions.as<int32_t>());
      // Values that round: ties, denormal halves, and values slightly or far beyond the largest half.
      constexpr float kTooLarge[] = {65520.0f, -65536.0f, 1e30f, -1e30f, INFINITY};
      for (int64_t i = 0; i < op.S * op.k_stride; ++i) {
        op.k.as<float>()[i] = static_cast<float>(2049 + i) * (i % 3 == 0 ? 0x1p-26f : i % 3 == 1 ? -1.0f : 40.0f);
        if (i % 4 == 3) op.k.as<float>()[i] = kTooLarge[i / 4 % 5];
      }
      for (int64_t i = 0; i < op.S * op.v_stride; ++i)
        op.v.as<float>()[i] = i % 4 == 1 ? kTooLarge[i / 4 % 5] : static_cast<float>(4097 + 3 * i) / -7.0f;
      const auto fill = [](const Operand& at, size_t bytes) {
        for (size_t b = 0; b < bytes; ++b) at.as<uint8_t>()[b] = static_cast<uint8_t>(b * 37 + 11);
        return std::vector<uint8_t>(at.as<uint8_t>(), at.as<uint8_t>() + bytes);
      };
      std::vector<uint8_t> k = fill(op.cache.k, op.cache.k_bytes()), v = fill(op.cache.v, op.cache.v_bytes());
      const auto expect = [&](std::vector<uint8_t>& bytes, int64_t index, float value) {
        const uint16_t half = float_to_half(value);
        const size_t size = op.cache.element_bytes();
        std::memcpy(&bytes[static_cast<size_t>(index) * size],
                    type == KvType::f16 ? static_cast<const void*>(&half) : &value, size);
      };
      for (int64_t s = 0; s < op.S; ++s) {
        for (int64_t h = 0; h < 3; ++h) {
          for (int64_t d = 0; d < head_dim; ++d)
            expect(k, key_index(op.cache, h, positions[s], d), op.k.as<float>()[s * op.k_stride + h * head_dim + d]);
          for (int64_t d = 0; d < head_dim_v; ++d)
            expect(v, value_index(op.cache, h, positions[s], d),
                   op.v.as<float>()[s * op.v_stride + h * head_dim_v + d]);
        }
      }
      run({"kv_append", op});
      EXPECT_EQ(std::memcmp(k.data(), op.cache.k.as<uint8_t>(), k.size()), 0);
      EXPECT_EQ(std::memcmp(v.data(), op.cache.v.as<uint8_t>(), v.size()), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Caches, ::testing::ValuesIn(gpu_targets()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tandem::testing
