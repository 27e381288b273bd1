#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/gpu/lower.h"
#include "engine/device/gpu/lower_support.h"
#include "sync/error.h"

namespace tandem::gpu {
namespace {

using ::testing::HasSubstr;

MatMul shape_only(StorageType type, int64_t S, int64_t N, int64_t K) {
  MatMul op;
  op.S = S, op.K = K, op.row_end = N, op.x_stride = K, op.y_stride = N;
  op.w = {packed_format(type), N, K, {}};
  return op;
}

TEST(LowerMatMul, one_token_is_one_work_item_for_each_panel_of_64_rows) {
  const auto launches = lower_matmul(shape_only(StorageType::q4_1, 1, 130, 64), {});
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].source, "matmul_i4_simd");
  EXPECT_EQ(launches[0].kernel, "matmul_small_batch");
  EXPECT_EQ(launches[0].global, (std::array<size_t, 3>{3, 1, 1}));
  EXPECT_THAT(launches[0].options, HasSubstr("-DTOKENS=1"));
}

// The kernel of a list is compiled once for all numbers of tokens.
TEST(LowerMatMul, of_a_list_takes_eight_tokens_at_a_time_and_then_the_rest) {
  LoweringContext lists;
  lists.listed_tokens = 13;
  sync::Pool pool;
  MatMul op = shape_only(StorageType::q4_1, 13, 130, 64);
  const sync::Slot& x = pool.acquire(4096, sync::SlotUse::activations, "x");
  op.x = {&x, 64}, op.y = {&x, 128};
  const auto launches = lower_matmul(op, lists);
  ASSERT_EQ(launches.size(), 2u);
  for (const KernelLaunch& launch : launches) EXPECT_EQ(launch.kernel, "matmul_small_batch");
  EXPECT_THAT(launches[0].options, HasSubstr("-DTOKENS=8"));
  EXPECT_THAT(launches[1].options, HasSubstr("-DTOKENS=5"));
  EXPECT_EQ(std::get<BufferArg>(launches[1].args[1]).at.offset_bytes, 64u + 8 * 64 * sizeof(float));
  EXPECT_EQ(std::get<BufferArg>(launches[1].args[2]).at.offset_bytes, 128u + 8 * 130 * sizeof(float));
  op.S = 14;
  ASSERT_EQ(lower_matmul(op, lists).size(), 1u);
  EXPECT_EQ(lower_matmul(op, lists)[0].kernel, "matmul_gemm");
}

// A group has 64 rows and 16 runs of K: 17 sums of four bytes for each row and each token.
TEST(LowerMatMul, of_few_tokens_on_gpus_takes_all_runs_at_once_where_groups_and_local_memory_are_large_enough) {
  LoweringContext gpu;
  gpu.family = KernelFamily::simt;
  gpu.shaders = true;
  gpu.max_work_group = 1024;
  gpu.local_memory_bytes = 32768;
  const auto kernel_and_runs = [&](int64_t tokens) {
    const auto launches = lower_matmul(shape_only(StorageType::q4_1, tokens, 130, 64), gpu);
    return std::pair{launches.at(0).kernel, launches.at(0).local[1]};
  };
  EXPECT_EQ(kernel_and_runs(1), (std::pair{std::string("matmul_small_batch_wide"), size_t{16}}));
  EXPECT_EQ(kernel_and_runs(4), (std::pair{std::string("matmul_small_batch_wide"), size_t{16}})) << "17,408 bytes";
  EXPECT_EQ(kernel_and_runs(5), (std::pair{std::string("matmul_small_batch"), size_t{4}})) << "too few registers";
  gpu.local_memory_bytes = 16384;
  EXPECT_EQ(kernel_and_runs(3), (std::pair{std::string("matmul_small_batch_wide"), size_t{16}})) << "13,056 bytes";
  EXPECT_EQ(kernel_and_runs(4), (std::pair{std::string("matmul_small_batch"), size_t{4}}));
  gpu.max_work_group = 512;
  EXPECT_EQ(kernel_and_runs(1), (std::pair{std::string("matmul_small_batch"), size_t{4}}));
  gpu.max_work_group = 1024, gpu.shaders = false;
  const auto opencl = lower_matmul(shape_only(StorageType::q4_1, 1, 130, 64), gpu);
  EXPECT_EQ(opencl.at(0).kernel, "matmul_small_batch");
  EXPECT_THAT(opencl.at(0).options, HasSubstr("-DWIDE=1"));
}

TEST(LowerMatMul, many_tokens_become_one_gemm_with_32_rows_a_work_item) {
  MatMul op = shape_only(StorageType::q8_0, 64, 200, 64);
  op.row_begin = 64;
  const auto launches = lower_matmul(op, {});
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].source, "matmul_i8_simd");
  EXPECT_EQ(launches[0].kernel, "matmul_gemm");
  EXPECT_EQ(launches[0].global[0], 5u);  // 136 rows = 4 * 32 + 8
  EXPECT_EQ(std::get<int32_t>(launches[0].args.back()), 64);
}

TEST(LowerMatMul, the_result_is_the_only_buffer_that_is_written) {
  const auto launch = lower_matmul(shape_only(StorageType::f16, 1, 64, 7), {}).at(0);
  int written = 0;
  for (const Arg& arg : launch.args) {
    if (const auto* buffer = std::get_if<BufferArg>(&arg)) written += buffer->writes;
  }
  EXPECT_EQ(written, 1);
  EXPECT_TRUE(std::get<BufferArg>(launch.args[2]).writes);
}

TEST(LowerMatMul, malformed_slices_are_errors_that_name_the_shape) {
  auto message = [](const MatMul& op) -> std::string {
    try {
      lower_matmul(op, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  MatMul op = shape_only(StorageType::q4_0, 1, 128, 64);
  op.row_begin = 32;
  EXPECT_THAT(message(op), HasSubstr("multiple of 64"));
  op.row_begin = 0, op.row_end = 129;
  EXPECT_THAT(message(op), HasSubstr("[128, 64]"));
  op.row_end = 128, op.K = 32;
  EXPECT_THAT(message(op), HasSubstr("K=32"));
  op.K = 64, op.y_stride = 100;
  EXPECT_THAT(message(op), HasSubstr("strides"));
}

TEST(Defines, are_macros_with_a_space_between_them) {
  EXPECT_EQ(defines({{"TILE", 8}, {"KV_F16", true}, {"SPLIT", -1}}), "-DTILE=8 -DKV_F16=1 -DSPLIT=-1");
  EXPECT_EQ(defines({}), "");
}

// Making an operator's name for an error costs more than lowering many of the operators.
TEST(Limits, name_an_operator_only_where_it_is_beyond_them) {
  LoweringContext context;
  context.loop_budget = 65535, context.max_buffer_bytes = 1000;
  int named = 0;
  const auto name = [&named] { return "operator " + std::to_string(++named); };
  require_countable(10, 10, context, "a row of", name);
  EXPECT_EQ(pieces_within_reach(400, context, "a row", name), 2);
  EXPECT_EQ(named, 0);
  const auto message_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message_of([&] { require_countable(11, 10, context, "a row of", name); }), HasSubstr("operator 1"));
  EXPECT_THAT(message_of([&] { pieces_within_reach(1001, context, "a row", name); }), HasSubstr("operator 2"));
}

TEST(PackedOptions, name_the_variant_of_every_format) {
  EXPECT_EQ(packed_options({PackedKind::i4, ScaleKind::half, MinKind::zero_point, 32, 8}),
            "-DGROUP=32 -DSUPER=0 -DMIN_KIND=1 -DZERO_POINT=8");
  EXPECT_EQ(packed_options({PackedKind::i8, ScaleKind::super, MinKind::none, 16, 0}),
            "-DGROUP=16 -DSUPER=1 -DMIN_KIND=0 -DZERO_POINT=0");
  EXPECT_EQ(packed_options({PackedKind::i8, ScaleKind::eighths, MinKind::none, 32, 0}),
            "-DGROUP=32 -DSUPER=2 -DMIN_KIND=0 -DZERO_POINT=0");
  EXPECT_EQ(packed_options({PackedKind::bf16, ScaleKind::none, MinKind::none, 0, 0}), "-DELEMENT=2");
}

}  // namespace
}  // namespace tandem::gpu
