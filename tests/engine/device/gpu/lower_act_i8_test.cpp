// Launches of products with 8-bit activations, and the device's scratch memory between them.
#include <gmock/gmock.h>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/scratch.h"
#include "sync/error.h"

namespace tandem::gpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MatMul act_i8_shape(StorageType type, int64_t S, int64_t N, int64_t K) {
  MatMul op;
  op.S = S, op.K = K, op.row_end = N, op.x_stride = K, op.y_stride = N, op.act_i8 = true;
  op.w = {packed_format(type), N, K, {}};
  return op;
}

const BufferArg& buffer_arg(const KernelLaunch& launch, size_t at) { return std::get<BufferArg>(launch.args[at]); }

TEST(LowerActI8, makes_the_codes_of_all_rows_first_in_memory_of_the_devices_own) {
  const auto launches = lower_matmul(act_i8_shape(StorageType::q4_1, 5, 130, 64), {});
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[0].source, "act_i8_simd");
  EXPECT_EQ(launches[0].global, (std::array<size_t, 3>{5, 1, 1}));
  EXPECT_TRUE(buffer_arg(launches[0], 1).writes);
  EXPECT_EQ(launches[1].source, "matmul_act8_simd");
  EXPECT_EQ(launches[1].kernel, "matmul_gemm");
  EXPECT_EQ(launches[1].global[0], 3U) << "a panel of 64 rows a work-item";
  EXPECT_FALSE(buffer_arg(launches[1], 1).writes);
  for (const auto& launch : launches) EXPECT_EQ(buffer_arg(launch, 1).own_bytes, 5U * 2 * 48) << "two groups a token";
}

TEST(LowerActI8, few_tokens_keep_their_sums_in_registers) {
  for (const int64_t S : {1, 3, 4}) {
    const auto launches = lower_matmul(act_i8_shape(StorageType::q6_k, S, 64, 256), {});
    EXPECT_EQ(launches[1].kernel, S == 4 ? "matmul_gemm" : "matmul_small_batch") << S;
    EXPECT_THAT(launches[1].options, HasSubstr("-DBITS=8"));
  }
}

TEST(LowerActI8, leaves_weights_of_few_tokens_to_processors_that_foresee_them) {
  LoweringContext context;
  const auto options = [&] { return lower_matmul(act_i8_shape(StorageType::q4_0, 1, 64, 64), context)[1].options; };
  EXPECT_THAT(options(), Not(HasSubstr("FETCHES_SMALL_BATCH")));
  context.processor.foresees_long_runs = true;
  EXPECT_THAT(options(), HasSubstr("-DFETCHES_SMALL_BATCH=0"));
}

TEST(LowerActI8, names_the_instruction_only_where_it_was_proven) {
  LoweringContext context;
  const auto options = [&] { return lower_matmul(act_i8_shape(StorageType::q4_0, 1, 64, 64), context)[1].options; };
  EXPECT_THAT(options(), Not(HasSubstr("HAS_VP")));
  context.byte_products = ByteProducts::vpdpbusd;
  EXPECT_THAT(options(), HasSubstr("HAS_VPDPBUSD"));
  context.byte_products = ByteProducts::vpmaddubsw;
  EXPECT_THAT(options(), HasSubstr("HAS_VPMADDUBSW"));
  context.family = KernelFamily::simt;
  EXPECT_THAT(options(), Not(HasSubstr("HAS_VP")));
}

LoweringContext graphics_card(bool shaders) {
  LoweringContext context;
  context.family = KernelFamily::simt;
  context.shaders = shaders;
  context.max_work_group = 1024;
  return context;
}

TEST(LowerActI8, simt_groups_share_a_rows_runs_for_few_tokens_and_have_64_by_64_results_for_more) {
  for (const bool shaders : {false, true}) {
    const LoweringContext context = graphics_card(shaders);
    const auto few = lower_matmul(act_i8_shape(StorageType::q8_0, 4, 130, 96), context);
    EXPECT_EQ(few[0].source, shaders ? "act_i8" : "act_i8_simt");
    EXPECT_EQ(few[0].global, (std::array<size_t, 3>{64, 4, 1})) << "three groups of columns, rounded up";
    EXPECT_EQ(few[1].source, "matmul_act8_simt");
    EXPECT_EQ(few[1].kernel, shaders ? "matmul_small_batch_wide" : "matmul_small_batch");
    EXPECT_THAT(few[1].options, HasSubstr("-DTOKENS=4"));
    EXPECT_EQ(few[1].local, (std::array<size_t, 3>{64, 16, 1}));
    EXPECT_EQ(few[1].global, (std::array<size_t, 3>{192, 16, 1}));

    const auto many = lower_matmul(act_i8_shape(StorageType::q8_0, 65, 130, 96), context);
    EXPECT_EQ(many[1].kernel, "matmul_gemm");
    EXPECT_THAT(many[1].options, Not(HasSubstr("TOKENS")));
    EXPECT_EQ(many[1].local, (std::array<size_t, 3>{256, 1, 1}));
    EXPECT_EQ(many[1].global, (std::array<size_t, 3>{768, 2, 1}));
  }
}

// The local memory of a wide group, worked out by hand. It has a sum for each token of 1,024 work-items, and a total
// for each token of 64 rows.
TEST(LowerActI8, simt_groups_are_wide_only_where_the_sums_of_all_runs_fit_local_memory) {
  struct Case {
    StorageType type;
    int64_t tokens;
    size_t bytes;
  };
  for (const Case& one : {Case{StorageType::q8_0, 1, 1088 * 4}, Case{StorageType::q4_1, 3, 1088 * 4 * 3},
                          Case{StorageType::q2_k, 4, 1088 * 4 * 4}}) {
    for (const bool fits : {true, false}) {
      LoweringContext context = graphics_card(false);
      context.local_memory_bytes = one.bytes - (fits ? 0 : 1);
      const auto launches = lower_matmul(act_i8_shape(one.type, one.tokens, 64, 256), context);
      EXPECT_EQ(launches[1].local[1], fits ? 16U : 4U) << info(one.type).name << ' ' << one.tokens;
    }
  }
}

TEST(LowerActI8, simd_shaders_have_an_invocation_a_row_and_four_tokens) {
  LoweringContext context;
  context.shaders = true;
  const auto launches = lower_matmul(act_i8_shape(StorageType::q8_0, 6, 130, 96), context);
  EXPECT_EQ(launches[1].source, "matmul_act8_simd");
  EXPECT_EQ(launches[1].kernel, "matmul_gemm");
  EXPECT_EQ(launches[1].global, (std::array<size_t, 3>{192, 2, 1}));
}

// The product of S tokens with two of `experts` matrices [130, 64] each, which lists name.
GroupedMatMul two_of_experts(sync::Pool& pool, StorageType type, int64_t S, int64_t experts) {
  GroupedMatMul op;
  op.S = S, op.slots = 2, op.act_i8 = true, op.routed = true;
  op.w = {packed_format(type), experts, 130, 64, {}, 0};
  op.x_stride = 64, op.y_slot = 130, op.y_stride = 260;
  op.lists = Operand{&pool.acquire(64, sync::SlotUse::activations, "operand"), 0};
  return op;
}

// A kernel that goes by ids would compute choices of other waves, and write over their results.
TEST(LowerActI8, simd_shaders_read_lists_where_only_listed_choices_are_multiplied) {
  sync::Pool pool;
  GroupedMatMul op = two_of_experts(pool, StorageType::q8_0, 5, 3);
  LoweringContext context;
  context.shaders = true;
  EXPECT_EQ(lower_grouped_matmul(op, context)[1].kernel, "grouped_small_batch");
  op.listed_only = true;
  const auto listed = lower_grouped_matmul(op, context);
  EXPECT_EQ(listed[1].kernel, "grouped_gemm");
  EXPECT_EQ(buffer_arg(listed[1], 3).at, op.lists);
  // Tiles of 4 for 10 choices of 3 experts: (10 + 3 * 3) / 4.
  EXPECT_EQ(listed[1].global, (std::array<size_t, 3>{192, 4, 1}));
}

TEST(LowerActI8, experts_on_graphics_cards_come_in_tiles_of_64_choices_where_they_are_many) {
  sync::Pool pool;
  GroupedMatMul op = two_of_experts(pool, StorageType::q4_0, 100, 8);
  const LoweringContext context = graphics_card(false);
  const auto many = lower_grouped_matmul(op, context);
  EXPECT_EQ(many[1].kernel, "grouped_gemm");
  // There are 200 choices in tiles of 64, and each of 8 experts may begin another tile: (200 + 8 * 63) / 64 = 11.
  EXPECT_EQ(many[1].global, (std::array<size_t, 3>{768, 11, 1}));
  op.S = 1;
  const auto one = lower_grouped_matmul(op, context);
  EXPECT_EQ(one[1].kernel, "grouped_small_batch");
  EXPECT_EQ(one[1].global, (std::array<size_t, 3>{192, 32, 1}))
      << "three panels; 16 tiles at once of each of two slots";
}

TEST(LowerActI8, names_packed_dot_products_only_where_they_were_proven) {
  for (const bool shaders : {false, true}) {
    LoweringContext context = graphics_card(shaders);
    const auto product = [&] { return lower_matmul(act_i8_shape(StorageType::q4_0, 1, 64, 64), context)[1]; };
    EXPECT_EQ(product().kernel, shaders ? "matmul_small_batch_wide" : "matmul_small_batch");
    EXPECT_THAT(product().options, Not(HasSubstr("DOT")));
    context.packed_dot = PackedDot::extension;
    EXPECT_EQ(product().kernel, shaders ? "matmul_small_batch_wide_dot" : "matmul_small_batch");
    if (!shaders) {
      EXPECT_THAT(product().options, HasSubstr("HAS_PACKED_DOT=1"));
      context.packed_dot = PackedDot::dp4a;
      EXPECT_THAT(product().options, HasSubstr("HAS_PACKED_DOT=2"));
    }
    context.family = KernelFamily::simd;
    EXPECT_THAT(product().options, Not(HasSubstr("HAS_PACKED_DOT"))) << "these name instructions of the host";
  }
}

TEST(LowerActI8, refuses_weights_without_integers) {
  EXPECT_THROW(lower_matmul(act_i8_shape(StorageType::f16, 1, 64, 64), {}), Error);
}

TEST(LowerActI8, experts_that_share_a_row_share_its_codes) {
  GroupedMatMul op;
  op.S = 2, op.slots = 3, op.act_i8 = true;
  op.w = {packed_format(StorageType::q4_0), 8, 64, 64, {}, 0};
  op.x_stride = 64, op.y_slot = 64, op.y_stride = 192;
  const auto shared = lower_grouped_matmul(op, {});
  EXPECT_EQ(shared[0].global, (std::array<size_t, 3>{2, 1, 1}));
  EXPECT_EQ(buffer_arg(shared[1], 1).own_bytes, 2U * 2 * 48);
  op.x_slot = 64, op.x_stride = 192;
  const auto apart = lower_grouped_matmul(op, {});
  EXPECT_EQ(apart[0].global, (std::array<size_t, 3>{2, 3, 1}));
  EXPECT_EQ(apart[1].kernel, "grouped_small_batch");
}

TEST(Scratch, is_one_place_that_grows_and_leaves_earlier_launches_theirs) {
  sync::Pool pool;
  Scratch scratch(pool);
  auto small = lower_matmul(act_i8_shape(StorageType::q4_0, 1, 64, 64), {});
  scratch.give_to(small);
  EXPECT_TRUE(buffer_arg(small[0], 1).at);
  EXPECT_EQ(buffer_arg(small[0], 1).at, buffer_arg(small[1], 1).at);
  EXPECT_FALSE(buffer_arg(small[0], 0).at) << "an operand stays absent";
  auto large = lower_matmul(act_i8_shape(StorageType::q4_0, 512, 64, 4096), {});
  scratch.give_to(large);
  EXPECT_GE(buffer_arg(large[0], 1).at.slot->size_bytes(), buffer_arg(large[0], 1).own_bytes);
  EXPECT_NE(buffer_arg(large[0], 1).at, buffer_arg(small[0], 1).at);
  auto again = lower_matmul(act_i8_shape(StorageType::q4_0, 1, 64, 64), {});
  scratch.give_to(again);
  EXPECT_EQ(buffer_arg(again[0], 1).at, buffer_arg(large[0], 1).at);
}

}  // namespace
}  // namespace tandem::gpu
