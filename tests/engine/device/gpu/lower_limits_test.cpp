// The lowering of rows, heads and caches on devices that count loop iterations, and for queries that must fit
// shared memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/gpu/lower.h"
#include "shaders/limits.h"
#include "tests/engine/device/gpu/families.h"
#include "tests/support/message_of.h"

namespace tandem::gpu {
namespace {

using tandem::test::message_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

int64_t constant_of(const KernelLaunch& launch, const std::string& wanted) {
  for (const auto& [name, value] : constants(launch.options))
    if (name == wanted) return std::stoll(value);
  return -1;
}

Attention attention_of(int64_t S, int64_t heads, int64_t kv_heads, int64_t head_dim, int64_t capacity) {
  Attention op;
  op.S = S, op.heads = heads;
  op.cache.kv_heads = kv_heads, op.cache.head_dim = op.cache.head_dim_v = head_dim, op.cache.capacity = capacity;
  return op;
}

TEST(LowerLimits, refuse_a_row_one_longer_than_proven_only_where_loops_are_counted) {
  for (KernelFamily family : kFamilies) {
    const LoweringContext counted{.family = family, .loop_budget = 65535}, uncounted{.family = family};
    const auto message = [&](int64_t width, const LoweringContext& context) {
      RmsNorm norm;
      norm.S = 1, norm.width = width;
      Softmax softmax;
      softmax.S = 1, softmax.width = width;
      ArgMax argmax;
      argmax.S = 1, argmax.width = width;
      TopK top_k;
      top_k.S = 1, top_k.width = width, top_k.k = 3;
      Rope rope;
      rope.S = 1, rope.heads = width, rope.head_dim = rope.rot_dim = 2;
      return std::vector<std::string>{
          message_of([&] { lower_rms_norm(norm, context); }), message_of([&] { lower_softmax(softmax, context); }),
          message_of([&] { lower_argmax(argmax, context); }), message_of([&] { lower_top_k(top_k, context); }),
          message_of([&] { lower_rope(rope, context); })};
    };
    const auto allowed = message(TANDEM_MAX_ROW, counted);
    for (size_t i = 0; i + 1 < allowed.size(); ++i) EXPECT_THAT(allowed[i], IsEmpty());
    for (const std::string& text : message(TANDEM_MAX_ROW / 2, counted)) EXPECT_THAT(text, IsEmpty());
    for (const std::string& text : message(TANDEM_MAX_ROW + 1, uncounted)) EXPECT_THAT(text, IsEmpty());
    for (const std::string& text : message(TANDEM_MAX_ROW + 1, counted)) {
      EXPECT_THAT(text, HasSubstr("exceeds " + std::to_string(TANDEM_MAX_ROW)));
      EXPECT_THAT(text, HasSubstr("S=1"));
    }
  }
}

TEST(LowerLimits, refuse_heads_and_caches_larger_than_proven_only_where_loops_are_counted) {
  for (KernelFamily family : kFamilies) {
    const LoweringContext counted{.family = family, .loop_budget = 65535}, uncounted{.family = family};
    sync::Pool pool;
    const auto message = [&](int64_t head_dim, int64_t capacity, const LoweringContext& context) {
      Attention op = attention_of(1, 4, 2, head_dim, capacity);
      op.scratch = {&pool.acquire(64, sync::SlotUse::device_local, "scratch"), 0};
      return message_of([&] { lower_attention(op, context); });
    };
    EXPECT_THAT(message(TANDEM_MAX_HEAD_DIM, TANDEM_MAX_POSITIONS, counted), IsEmpty());
    EXPECT_THAT(message(TANDEM_MAX_HEAD_DIM + 1, 64, counted), HasSubstr("a head of"));
    EXPECT_THAT(message(64, TANDEM_MAX_POSITIONS + 64, counted), HasSubstr("capacity 262208"));
    EXPECT_THAT(message(TANDEM_MAX_HEAD_DIM + 1, TANDEM_MAX_POSITIONS + 64, uncounted), IsEmpty());
    KvAppend append;
    append.S = 1;
    append.cache = attention_of(1, 1, 1, TANDEM_MAX_HEAD_DIM + 1, 64).cache;
    EXPECT_THAT(message_of([&] { lower_kv_append(append, counted); }), HasSubstr("kv_append"));
    EXPECT_THAT(message_of([&] { lower_kv_append(append, uncounted); }), IsEmpty());
  }
}

TEST(LowerLimits, split_every_cache_that_one_work_group_may_not_run_through) {
  sync::Pool pool;
  const Operand scratch{&pool.acquire(64, sync::SlotUse::device_local, "scratch"), 0};
  constexpr int64_t kInTurn = TANDEM_MAX_SPLITS_IN_TURN * kAttentionSplit;
  for (KernelFamily family : kFamilies) {
    // Splits do not help one unit, and 200 tokens fill several units. So loops are the only reason to split.
    const LoweringContext counted{.family = family, .compute_units = 1, .loop_budget = 65535};
    Attention op = attention_of(200, 4, 2, 64, kInTurn);
    EXPECT_EQ(lower_attention(op, counted).size(), 1u);
    op.cache.capacity += 64;
    EXPECT_THAT(message_of([&] { lower_attention(op, counted); }), HasSubstr("scratch"));
    op.scratch = scratch;
    const auto launches = lower_attention(op, counted);
    ASSERT_EQ(launches.size(), 2u);
    EXPECT_EQ(launches[0].global[2], static_cast<size_t>(TANDEM_MAX_SPLITS_IN_TURN) + 1);
    EXPECT_EQ(lower_attention(op, {.family = family, .compute_units = 1}).size(), 1u);
  }
}

TEST(LowerLimits, share_loads_among_as_many_queries_as_fit_shared_memory) {
  const auto tile = [](int64_t head_dim, size_t shared_bytes, KernelFamily family) {
    const LoweringContext context{
        .family = family, .shaders = true, .local_memory_bytes = shared_bytes, .loop_budget = 65535};
    return constant_of(lower_attention(attention_of(9, 4, 2, head_dim, 64), context).at(0), "TILE");
  };
  EXPECT_EQ(tile(64, 32768, KernelFamily::simd), 8);
  EXPECT_EQ(tile(512, 32768, KernelFamily::simd), 5);  // 5,408 bytes for a query, and 480 for all of them
  EXPECT_EQ(tile(256, 16384, KernelFamily::simt), 4);
  EXPECT_EQ(tile(512, 16384, KernelFamily::simt), 2);
  EXPECT_THAT(message_of([&] { tile(512, 5000, KernelFamily::simt); }), HasSubstr("shared memory"));
  EXPECT_EQ(constant_of(lower_attention(attention_of(9, 4, 2, 512, 64), {}).at(0), "TILE"), 8)
      << "OpenCL's simd kernel keeps its queries elsewhere";
}

TEST(LowerLimits, give_tiles_of_attention_six_queries_where_loads_count_and_leave_a_tokens_queries_together) {
  LoweringContext context;
  const auto tile = [&](int64_t S, int64_t heads, int64_t kv_heads) {
    return constant_of(lower_attention(attention_of(S, heads, kv_heads, 64, 64), context).at(0), "TILE");
  };
  EXPECT_EQ(tile(9, 9, 3), 8) << "27 queries of a KV head, as many together as fit";
  context.processor.loads_cost_products = true;
  EXPECT_EQ(tile(9, 9, 3), 6);
  EXPECT_EQ(tile(2, 8, 2), 8) << "all there are";
  EXPECT_EQ(tile(1, 16, 1), 8) << "one token's";
  EXPECT_EQ(tile(1, 9, 3), 3);
}

}  // namespace
}  // namespace tandem::gpu
