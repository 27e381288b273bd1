// The lowering for devices that limit loops or the reach of arguments. A small artificial reach cuts operators into
// launches. They must cover every row and token once, and each must stay within reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/device/gpu/lower.h"
#include "shaders/limits.h"
#include "tests/engine/device/gpu/families.h"
#include "tests/support/message_of.h"

namespace tandem::gpu {
namespace {

using tandem::test::message_of;
using ::testing::HasSubstr;

// Operators over slots. Nothing runs: the tests only look at launches.
struct ReachMemory {
  sync::Pool pool;
  Operand take(size_t bytes) { return {&pool.acquire(bytes, sync::SlotUse::weights, "operand"), 0}; }

  MatMul matmul(StorageType type, int64_t S, int64_t N, int64_t K) {
    MatMul op;
    op.S = S, op.K = K, op.row_end = N, op.x_stride = K + 3, op.y_stride = N + 5;
    op.w = {packed_format(type), N, K, {}};
    op.w.data = take(op.w.bytes());
    op.x = take(static_cast<size_t>(S * op.x_stride) * 4);
    op.y = take(static_cast<size_t>(S * op.y_stride) * 4);
    return op;
  }
  Embed embed(StorageType type, int64_t S, int64_t vocabulary, int64_t H) {
    Embed op;
    op.S = S, op.H = H, op.w = {packed_format(type), vocabulary, H, {}};
    op.w.data = take(op.w.bytes());
    op.ids = take(static_cast<size_t>(S) * 4);
    op.y = take(static_cast<size_t>(S * H) * 4);
    return op;
  }
};

const Operand& buffer(const KernelLaunch& launch, size_t i) { return std::get<BufferArg>(launch.args.at(i)).at; }
int32_t integer(const KernelLaunch& launch, size_t i) { return std::get<int32_t>(launch.args.at(i)); }

// The tokens of a launch of a matmul.
int64_t tokens_of(const KernelLaunch& launch) {
  if (launch.kernel == "matmul_gemm") return integer(launch, 9);
  for (const auto& [name, value] : constants(launch.options))
    if (name == "TOKENS") return std::stoll(value);
  return -1;
}

// How often the launches compute each element of y, with the shader's address computation. Expects that no argument
// leaves its reach.
std::vector<int> computed(const MatMul& op, const std::vector<KernelLaunch>& launches, int64_t reach) {
  const auto panel = static_cast<int64_t>(panel_bytes(op.w.format, op.K));
  std::vector<int> times(static_cast<size_t>(op.S * op.y_stride));
  for (const KernelLaunch& launch : launches) {
    const int64_t row_begin = integer(launch, 5), row_end = integer(launch, 6), tokens = tokens_of(launch);
    const auto w = static_cast<int64_t>(buffer(launch, 0).offset_bytes),
               y = static_cast<int64_t>(buffer(launch, 2).offset_bytes) / 4;
    const auto x = static_cast<int64_t>(buffer(launch, 1).offset_bytes) / 4;
    EXPECT_EQ(x % op.x_stride, 0);
    EXPECT_LE(panel_count(row_end) * panel, reach);
    EXPECT_LE(((tokens - 1) * op.x_stride + op.K) * 4, reach);
    EXPECT_LE(((tokens - 1) * op.y_stride + row_end) * 4, reach);
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t row = row_begin; row < row_end; ++row) {
        const int64_t element = y + t * op.y_stride + row;
        times.at(static_cast<size_t>(element))++;
        EXPECT_EQ(w + row / 64 * panel, element % op.y_stride / 64 * panel) << "the panel of row " << row;
        EXPECT_EQ(element / op.y_stride, x / op.x_stride + t) << "the token of row " << row;
      }
    }
  }
  return times;
}

void expect_every_element_once(const MatMul& op, const LoweringContext& context, size_t launches_wanted) {
  const auto launches = lower_matmul(op, context);
  EXPECT_EQ(launches.size(), launches_wanted);
  const std::vector<int> times = computed(op, launches, context.max_buffer_bytes);
  for (int64_t s = 0; s < op.S; ++s)
    for (int64_t n = 0; n < op.y_stride; ++n)
      ASSERT_EQ(times[static_cast<size_t>(s * op.y_stride + n)], n >= op.row_begin && n < op.row_end) << s << ", " << n;
}

TEST(Reach, weights_beyond_one_argument_are_cut_into_launches_of_whole_panels) {
  for (KernelFamily family : kFamilies) {
    ReachMemory memory;
    // A panel has 64 x 96 / 2 bytes of quants and 3 x 128 bytes of scales, 3,456 in all. Two panels fit.
    MatMul op = memory.matmul(StorageType::q4_0, 3, 300, 96);
    const LoweringContext context{.family = family, .max_buffer_bytes = 2 * 3456};
    expect_every_element_once(op, context, 3);
    op.row_begin = 128, op.row_end = 256;  // a slice deep in the weights reaches as far as the whole matrix
    expect_every_element_once(op, context, 1);
    op.row_begin = 64, op.row_end = 300;
    expect_every_element_once(op, context, 2);
  }
}

TEST(Reach, a_weight_within_reach_stays_one_launch) {
  for (KernelFamily family : kFamilies) {
    ReachMemory memory;
    const MatMul op = memory.matmul(StorageType::q4_0, 3, 300, 96);
    EXPECT_EQ(lower_matmul(op, {.family = family, .max_buffer_bytes = 5 * 3456}).size(), 1u);
    EXPECT_EQ(lower_matmul(op, {.family = family, .max_buffer_bytes = 5 * 3456 - 1}).size(), 2u);
    EXPECT_EQ(lower_matmul(op, {.family = family}).size(), 1u) << "0 is no limit";
  }
}

TEST(Reach, rows_are_cut_too_where_a_row_of_the_result_is_beyond_one_argument) {
  ReachMemory memory;
  const MatMul op = memory.matmul(StorageType::f16, 2, 1000, 8);  // a panel has 1,024 bytes, a row of y 4 x 1,005
  expect_every_element_once(op, {.max_buffer_bytes = 16 * 1024}, 1);
  expect_every_element_once(op, {.max_buffer_bytes = 3 * 1024}, 12);
}

TEST(Reach, activations_beyond_one_argument_are_cut_by_tokens) {
  for (KernelFamily family : kFamilies) {
    ReachMemory memory;
    // Rows of y have 4 x 69 bytes, rows of x 4 x 99: so 20,000 bytes are 50 tokens of x.
    const MatMul op = memory.matmul(StorageType::q4_0, 120, 64, 96);
    expect_every_element_once(op, {.family = family, .max_buffer_bytes = 20000}, 3);
    // Tiles of 64 tokens stay whole if more than one fits: the cut is 64 and 56, not 82 and 38.
    const auto launches = lower_matmul(op, {.family = family, .max_buffer_bytes = 32500});
    ASSERT_EQ(launches.size(), 2u);
    EXPECT_EQ(tokens_of(launches[0]), 64);
  }
}

TEST(Reach, what_no_cut_brings_within_reach_is_an_error_with_sizes) {
  ReachMemory memory;
  const MatMul op = memory.matmul(StorageType::q4_0, 1, 300, 96);
  const auto lowered = [&] { lower_matmul(op, {.max_buffer_bytes = 3000}); };
  EXPECT_THAT(message_of(lowered), HasSubstr("3456"));
  EXPECT_THAT(message_of(lowered), HasSubstr("3000"));
  EXPECT_THAT(message_of(lowered), HasSubstr("matmul S=1 K=96"));
  const Embed embed = memory.embed(StorageType::q4_0, 2, 70, 96);
  EXPECT_THAT(message_of([&] { lower_embed(embed, {.max_buffer_bytes = 3000}); }), HasSubstr("embed S=2 H=96"));
}

TEST(Reach, every_id_of_an_embedding_is_looked_up_by_one_launch) {
  for (KernelFamily family : kFamilies) {
    ReachMemory memory;
    const Embed op = memory.embed(StorageType::q4_0, 7, 300, 96);
    const auto panel = static_cast<int64_t>(panel_bytes(op.w.format, op.H));
    // First two panels and eight tokens are within reach, then one panel and three tokens.
    for (const auto& [reach, wanted] : {std::pair{2 * panel, 3u}, std::pair{3 * panel / 2, 5u}}) {
      const auto launches = lower_embed(op, {.family = family, .max_buffer_bytes = reach});
      EXPECT_EQ(launches.size(), wanted);
      int rows_zero = 0;
      std::vector<int> times(300);
      for (const KernelLaunch& launch : launches) {
        const int32_t begin = integer(launch, 5), end = integer(launch, 6);
        EXPECT_EQ(integer(launch, 4), 300) << "all launches know the whole vocabulary";
        EXPECT_EQ(static_cast<int64_t>(buffer(launch, 0).offset_bytes), begin / 64 * panel);
        EXPECT_LE(panel_count(end - begin) * panel, reach);
        EXPECT_EQ(launch.global[1], 7u);
        rows_zero += begin == 0;
        for (int32_t id = begin; id < end; ++id) ++times[static_cast<size_t>(id)];
      }
      EXPECT_EQ(rows_zero, 1) << "one launch writes NaN for ids outside the vocabulary";
      EXPECT_TRUE(std::ranges::all_of(times, [](int n) { return n == 1; }));
    }
  }
}

TEST(Reach, an_embedding_of_many_tokens_is_cut_by_tokens) {
  ReachMemory memory;
  const Embed op = memory.embed(StorageType::f32, 100, 64, 8);
  // A panel has 2,048 bytes, a token 32.
  const auto launches = lower_embed(op, {.max_buffer_bytes = 2048});
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].global[1], 64u);
  EXPECT_EQ(launches[1].global[1], 36u);
  EXPECT_EQ(buffer(launches[1], 1).offset_bytes, 64u * 4);
  EXPECT_EQ(buffer(launches[1], 2).offset_bytes, 64u * 32);
}

TEST(Loops, columns_beyond_the_proven_number_are_refused_only_where_loops_are_counted) {
  MatMul op;
  op.S = 1, op.K = op.w.columns = op.x_stride = TANDEM_MAX_K, op.row_end = op.w.rows = op.y_stride = 64;
  op.w.format = packed_format(StorageType::q4_0);
  for (KernelFamily family : kFamilies) {
    const LoweringContext counted{.family = family, .loop_budget = 65535};
    EXPECT_EQ(lower_matmul(op, counted).size(), 1u);
    MatMul more = op;
    more.K = more.w.columns = more.x_stride = TANDEM_MAX_K + 32;
    EXPECT_EQ(lower_matmul(more, {.family = family}).size(), 1u);
    const std::string message = message_of([&] { lower_matmul(more, counted); });
    EXPECT_THAT(message, HasSubstr("K " + std::to_string(more.K)));
    EXPECT_THAT(message, HasSubstr(std::to_string(TANDEM_MAX_K)));
    EXPECT_THAT(message, HasSubstr("65535"));
  }
}

TEST(Loops, a_group_of_the_simd_gemm_takes_one_tile_of_tokens_in_shaders) {
  ReachMemory memory;
  const MatMul op = memory.matmul(StorageType::q4_0, 33, 200, 96);
  const auto shader = lower_matmul(op, {.shaders = true}), kernel = lower_matmul(op, {});
  ASSERT_EQ(shader.size(), 1u);
  EXPECT_EQ(shader[0].global, (std::array<size_t, 3>{4, 5, 1})) << "64 rows and 8 tokens a group";
  EXPECT_EQ(kernel.at(0).global, (std::array<size_t, 3>{7, 1, 1})) << "32 rows and all tokens a work-item";
}

TEST(LowerEmbed, a_group_takes_64_columns_of_a_token_in_both_families) {
  ReachMemory memory;
  const Embed op = memory.embed(StorageType::f16, 3, 70, 100);
  const auto simd = lower_embed(op, {.family = KernelFamily::simd}),
             simt = lower_embed(op, {.family = KernelFamily::simt});
  ASSERT_EQ(simd.size(), 1u);
  ASSERT_EQ(simt.size(), 1u);
  EXPECT_EQ(simd[0].global, (std::array<size_t, 3>{2, 3, 1}));
  EXPECT_EQ(simt[0].global, (std::array<size_t, 3>{128, 3, 1}));
  EXPECT_EQ(simt[0].local, (std::array<size_t, 3>{64, 1, 1}));
  EXPECT_EQ(integer(simd[0], 8), 64);
  EXPECT_EQ(integer(simt[0], 8), 1);
  EXPECT_EQ(simd[0].source, "embed");
  Embed nothing = op;
  nothing.S = 0;
  EXPECT_TRUE(lower_embed(nothing, {}).empty());
}

}  // namespace
}  // namespace tandem::gpu
