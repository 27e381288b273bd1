// Rope, KvAppend and Attention. The cache holds NaN beyond a token's position, so a result shows a read from there.
#include <algorithm>
#include <numeric>

#include "engine/tensor/types.h"
#include "tests/engine/device/opencl/kernels/kernel_test.h"

namespace tandem::opencl::test {
namespace {

using RopeKernel = KernelTest;

TEST_P(RopeKernel, turns_pairs_by_the_table_in_both_layouts) {
  for (RopeLayout layout : {RopeLayout::interleaved, RopeLayout::halves}) {
    for (auto [head_dim, rot_dim] :
         {std::pair<int64_t, int64_t>{64, 64}, {64, 32}, {80, 80}, {10, 6}, {36, 36}, {2, 2}}) {
      Rope op;
      op.S = 3, op.heads = 3, op.head_dim = head_dim, op.rot_dim = rot_dim, op.layout = layout,
      op.x_stride = 3 * head_dim + 2;
      const auto x = random(static_cast<size_t>(3 * op.x_stride));
      const auto table = random(static_cast<size_t>(9 * rot_dim));
      const std::vector<int32_t> positions = {5, 0, 8};
      op.x = memory_.put(x);
      op.table = memory_.put(table);
      op.table_positions = 9;
      op.positions = memory_.put(positions);
      runner_->run(lower_rope(op, context_));
      auto want = x;
      for (size_t s = 0; s < 3; ++s) {
        for (int64_t h = 0; h < 3; ++h) {
          for (int64_t j = 0; j < rot_dim / 2; ++j) {
            const bool interleaved = layout == RopeLayout::interleaved;
            float* head = &want[s * static_cast<size_t>(op.x_stride) + static_cast<size_t>(h * head_dim)];
            float &a = head[interleaved ? 2 * j : j], &b = head[interleaved ? 2 * j + 1 : j + rot_dim / 2];
            const float* turn = &table[static_cast<size_t>(positions[s] * rot_dim + 2 * j)];
            const float old = a;
            a = std::fma(a, turn[0], -(b * turn[1]));
            b = std::fma(old, turn[1], b * turn[0]);
          }
        }
      }
      EXPECT_TRUE(same_bits(values_at<float>(op.x, x.size()), want)) << head_dim << " " << rot_dim;
    }
  }
}
TANDEM_BOTH_FAMILIES(RopeKernel);

class AttentionKernel : public KernelTest {
 protected:
  // The cache of one layer. Its first `filled` positions were appended, and the rest is NaN. k_ and v_ keep the cache's
  // rounded values.
  KvCache make_cache(KvType type, int64_t kv_heads, int64_t head_dim, int64_t head_dim_v, int64_t capacity,
                     int64_t filled) {
    KvCache cache = kv_cache(type, kv_heads, head_dim, head_dim_v, capacity);
    std::vector<int32_t> pages(static_cast<size_t>(cache.pages));  // in falling order
    std::iota(pages.rbegin(), pages.rend(), 0);
    segments_.pages = memory_.put(pages);
    const auto bytes_of_nan = [](Operand at, size_t bytes) { std::memset(at.as<char>(), 0x7f, bytes); };
    cache.k = memory_.room(cache.k_bytes());
    cache.v = memory_.room(cache.v_bytes());
    bytes_of_nan(cache.k, cache.k_bytes());
    bytes_of_nan(cache.v, cache.v_bytes());
    k_ = random(static_cast<size_t>(filled * kv_heads * head_dim));
    v_ = random(static_cast<size_t>(filled * kv_heads * head_dim_v), 2);
    std::vector<int32_t> positions(static_cast<size_t>(filled));
    std::iota(positions.begin(), positions.end(), 0);
    KvAppend append;
    append.S = filled, append.k = memory_.put(k_), append.v = memory_.put(v_);
    append.k_stride = kv_heads * head_dim, append.v_stride = kv_heads * head_dim_v;
    append.positions = memory_.put(positions);
    append.cache = cache;
    append.segments = segments_;
    runner_->run(lower_kv_append(append, context_));
    if (type == KvType::f16) {
      for (float& v : k_) v = half_to_float(float_to_half(v));
      for (float& v : v_) v = half_to_float(float_to_half(v));
    }
    return cache;
  }

  std::vector<float> attend(Attention op, const std::vector<float>& q, std::vector<int32_t> positions,
                            int compute_units = 1) {
    op.S = static_cast<int64_t>(positions.size());
    op.q = memory_.put(q);
    op.q_stride = static_cast<int64_t>(q.size()) / op.S;
    op.y_stride = op.heads * op.cache.head_dim_v + 3;
    op.y = memory_.room(static_cast<size_t>(op.S * op.y_stride) * 4);
    op.positions = memory_.put(positions);
    op.segments = segments_;
    op.scratch = memory_.room(attention_scratch_bytes(op.S, op.heads, op.cache.head_dim_v, op.cache.capacity));
    context_.compute_units = compute_units;
    const auto launches = lower_attention(op, context_);
    launches_ = launches.size();
    runner_->run(launches);
    std::vector<float> rows;
    for (int64_t s = 0; s < op.S; ++s) {
      const float* row = op.y.as<float>() + s * op.y_stride;
      rows.insert(rows.end(), row, row + op.heads * op.cache.head_dim_v);
      for (int i = 0; i < 3; ++i) EXPECT_EQ(row[op.heads * op.cache.head_dim_v + i], 0.0f) << "between the rows";
    }
    return rows;
  }

  std::vector<double> reference(const Attention& op, const std::vector<float>& q,
                                const std::vector<int32_t>& positions) const {
    const KvCache& cache = op.cache;
    const int64_t group = op.heads / cache.kv_heads;
    std::vector<double> y;
    for (size_t s = 0; s < positions.size(); ++s) {
      for (int64_t h = 0; h < op.heads; ++h) {
        std::vector<double> p;
        for (int64_t n = 0; n <= positions[s]; ++n) {
          double score = 0;
          for (int64_t d = 0; d < cache.head_dim; ++d) {
            score +=
                static_cast<double>(q[s * q.size() / positions.size() + static_cast<size_t>(h * cache.head_dim + d)]) *
                k_[static_cast<size_t>((n * cache.kv_heads + h / group) * cache.head_dim + d)];
          }
          p.push_back(score * op.score.scale);
        }
        const double top = *std::max_element(p.begin(), p.end());
        double sum = 0;
        for (double& e : p) sum += e = std::exp(e - top);
        for (int64_t d = 0; d < cache.head_dim_v; ++d) {
          double value = 0;
          for (size_t n = 0; n < p.size(); ++n) {
            value += p[n] * v_[(n * static_cast<size_t>(cache.kv_heads) + static_cast<size_t>(h / group)) *
                                   static_cast<size_t>(cache.head_dim_v) +
                               static_cast<size_t>(d)];
          }
          y.push_back(value / sum);
        }
      }
    }
    return y;
  }

  std::vector<float> k_, v_;  // [filled, kv_heads, width], rounded to the cache's type
  Segments segments_;
  size_t launches_ = 0;
};

std::vector<int32_t> ascending(int32_t first, size_t count) {
  std::vector<int32_t> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

TEST_P(AttentionKernel, append_writes_the_cache_layout_rounded_to_nearest_even) {
  for (KvType type : {KvType::f16, KvType::f32}) {
    const KvCache cache = make_cache(type, 2, 20, 35, 64, 19);
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t n = 0; n < 64; ++n) {
        const auto element = [&](const Operand& at, int64_t index) {
          return type == KvType::f16 ? half_to_float(at.as<uint16_t>()[index]) : at.as<float>()[index];
        };
        for (int64_t d = 0; d < 20; ++d) {
          const float got = element(cache.k, ((h * 16 + n / 16) * 20 + d) * 16 + n % 16);
          if (n < 19) {
            ASSERT_EQ(got, k_[static_cast<size_t>((n * 2 + h) * 20 + d)]) << n << " " << d;
          } else {
            ASSERT_FALSE(std::abs(got) < 1e30f) << "position " << n << " was touched";
          }
        }
        for (int64_t d = 0; d < 35; ++d) {
          const float got = element(cache.v, (h * 256 + n) * 35 + d);
          if (n < 19) {
            ASSERT_EQ(got, v_[static_cast<size_t>((n * 2 + h) * 35 + d)]) << n << " " << d;
          } else {
            ASSERT_FALSE(std::abs(got) < 1e30f) << "position " << n << " was touched";
          }
        }
      }
    }
  }
}

TEST_P(AttentionKernel, equals_the_formula_for_odd_heads_and_positions) {
  struct Case {
    KvType type;
    int64_t heads, kv_heads, head_dim, head_dim_v, capacity;
    std::vector<int32_t> positions;
  };
  const std::vector<Case> cases = {
      {KvType::f16, 9, 3, 64, 64, 640, ascending(0, 40)},
      {KvType::f16, 9, 3, 64, 64, 640, {519}},
      {KvType::f32, 4, 4, 16, 16, 320, ascending(250, 20)},
      {KvType::f32, 2, 1, 8, 8, 64, {0}},
      {KvType::f16, 6, 2, 20, 35, 320, {0, 3, 17, 255, 256}},
      {KvType::f16, 14, 2, 64, 64, 320, {300}},
      {KvType::f16, 6, 2, 48, 20, 128, {70, 71}},  // rows of 40 bytes are no multiple of a vector
      {KvType::f32, 3, 1, 80, 80, 128, ascending(60, 7)},
      {KvType::f16, 12, 1, 128, 128, 576, {63, 511, 512}},
      {KvType::f32, 1, 1, 5, 3, 64, ascending(0, 9)},
      {KvType::f16, 4, 1, 96, 96, 64, {15}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message() << "heads " << c.heads << "/" << c.kv_heads << " d " << c.head_dim
                                      << " positions " << c.positions.size());
    Attention op;
    op.heads = c.heads;
    op.score.scale = 1.7f / std::sqrt(static_cast<float>(c.head_dim));
    op.cache = make_cache(c.type, c.kv_heads, c.head_dim, c.head_dim_v, c.capacity, c.positions.back() + 1);
    const auto q = random(c.positions.size() * static_cast<size_t>(c.heads * c.head_dim), 2);
    const auto want = reference(op, q, c.positions);
    const auto got = attend(op, q, c.positions);
    ASSERT_EQ(got.size(), want.size());
    // Scores up to |s| are off by at most s * head_dim * 2^-24. Weights move by that relative amount, and |v| <= 2.
    const double tolerance = 2 * (20.0 * static_cast<double>(c.head_dim) + 300) / (1 << 24);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << i;
  }
}

TEST_P(AttentionKernel, gives_the_same_bits_in_chunks_of_any_size_and_over_split_caches) {
  for (int64_t heads : {9, 3, 8}) {
    const int64_t kv_heads = heads == 8 ? 1 : 3;
    const size_t S = 130;
    const int32_t before = 300;  // positions 300 .. 429 begin behind the split at 256; chunks cross blocks
    for (bool round : {false, true}) {
      if (round && heads != 9) continue;  // all heads round in the same way
      Attention op;
      op.heads = heads;
      op.score.scale = 0.25f;
      op.round_f16 = round;
      op.cache = make_cache(KvType::f16, kv_heads, 64, 48, 640, before + static_cast<int32_t>(S));
      const size_t width = static_cast<size_t>(heads * 64);
      const auto q = random(S * width, 2);
      const auto all = attend(op, q, ascending(before, S));
      for (size_t chunk : {1, 7, 64}) {
        for (int compute_units : {1, 16}) {
          std::vector<float> got;
          bool split = false;
          for (size_t at = 0; at < S; at += chunk) {
            const size_t count = std::min(chunk, S - at);
            const std::vector<float> part(q.begin() + static_cast<long>(at * width),
                                          q.begin() + static_cast<long>((at + count) * width));
            const auto rows = attend(op, part, ascending(before + static_cast<int32_t>(at), count), compute_units);
            split |= launches_ == 2;
            got.insert(got.end(), rows.begin(), rows.end());
            if (chunk == 1 && at > 20) break;
          }
          if (chunk == 1) {
            EXPECT_EQ(split, compute_units > 1);
          }
          EXPECT_TRUE(same_bits(got, {all.begin(), all.begin() + static_cast<long>(got.size())}))
              << "chunk " << chunk << " compute units " << compute_units << " heads " << heads;
        }
      }
      if (round) {
        for (float v : all) ASSERT_EQ(v, half_to_float(float_to_half(v)));
      }
    }
  }
}

// The kernels for a processor with few registers run on every other processor, too.
TEST_P(AttentionKernel, gives_the_same_bits_whatever_the_registers_hold) {
  if (GetParam() == KernelFamily::simt) GTEST_SKIP() << "skipped: simt kernels take no account of registers";
  for (int64_t head_dim_v : {64, 35}) {
    Attention op;
    op.heads = 9;
    op.score.scale = 0.25f;
    op.cache = make_cache(KvType::f16, 3, 64, head_dim_v, 640, 340);
    for (size_t S : {1, 2, 40}) {
      const auto q = random(S * 9 * 64, 2);
      context_.vector_registers = 32;
      context_.processor.loads_cost_products = false;
      const auto many = attend(op, q, ascending(300, S));
      for (const int64_t registers : {32, 8}) {
        context_.vector_registers = registers;
        context_.processor.loads_cost_products = true;
        EXPECT_TRUE(same_bits(attend(op, q, ascending(300, S)), many))
            << "S " << S << " head_dim_v " << head_dim_v << " registers " << registers;
      }
    }
  }
}

TEST_P(AttentionKernel, survives_scores_that_overflow_a_plain_exp) {
  Attention op;
  op.heads = 1;
  op.score.scale = 40.0f;
  op.cache = make_cache(KvType::f32, 1, 16, 16, 320, 300);
  const auto q = random(16, 4);
  const auto got = attend(op, q, {299});
  const auto want = reference(op, q, {299});
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 2e-3) << i;  // scores are near 500: the absolute error is 500 * 2^-24 * 16
}
TANDEM_BOTH_FAMILIES(AttentionKernel);

}  // namespace
}  // namespace tandem::opencl::test
