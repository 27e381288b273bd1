// Launches of products with 8-bit activations, and the memory of a device's own between them.
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
    EXPECT_EQ(launches[1].kernel, S == 4 ? "matmul_gemm" : "matmul_few") << S;
    EXPECT_THAT(launches[1].options, HasSubstr("-DBITS=8"));
  }
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

TEST(LowerActI8, simt_kernels_and_shaders_have_a_work_item_a_row_and_four_tokens) {
  for (const bool shaders : {false, true}) {
    LoweringContext context;
    context.family = KernelFamily::simt;
    context.shaders = shaders;
    const auto launches = lower_matmul(act_i8_shape(StorageType::q8_0, 6, 130, 96), context);
    EXPECT_EQ(launches[0].source, shaders ? "act_i8" : "act_i8_simt");
    EXPECT_EQ(launches[0].global, (std::array<size_t, 3>{64, 6, 1})) << "three groups of columns, rounded up";
    EXPECT_EQ(launches[1].global, (std::array<size_t, 3>{192, 2, 1}));
  }
}

TEST(LowerActI8, names_packed_dot_products_only_where_they_were_proven) {
  for (const bool shaders : {false, true}) {
    LoweringContext context;
    context.family = KernelFamily::simt;
    context.shaders = shaders;
    const auto product = [&] { return lower_matmul(act_i8_shape(StorageType::q4_0, 1, 64, 64), context)[1]; };
    EXPECT_EQ(product().kernel, "matmul_gemm");
    EXPECT_THAT(product().options, Not(HasSubstr("DOT")));
    context.packed_dot = true;
    EXPECT_EQ(product().kernel, shaders ? "matmul_gemm_dot" : "matmul_gemm");
    if (!shaders) {
      EXPECT_THAT(product().options, HasSubstr("HAS_PACKED_DOT"));
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
  EXPECT_EQ(apart[1].kernel, "grouped_few");
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
