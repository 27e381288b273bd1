#include "engine/plan/model_clock/processor_time.h"

#include <gtest/gtest.h>

#include "tests/engine/plan/round_profile.h"

namespace tandem {
namespace {

Operator matmul(int64_t S, int64_t rows = 1024) { return {"m", megabyte_matmul(S, rows)}; }

TEST(processor_time, the_gpu_is_memory_bound_until_its_rate_is_flat) {
  SocProfile profile = round_profile();
  profile.gpu.flops = 8 * kMega / kMs;  // a token takes 0.25 ms of arithmetic, 0.5 ms of memory
  EXPECT_DOUBLE_EQ(gpu_time(profile, matmul(1), 0).seconds, 0.5 * kMs);
  EXPECT_DOUBLE_EQ(gpu_time(profile, matmul(2), 0).seconds, 0.5 * kMs);  // both take 0.5 ms
  EXPECT_DOUBLE_EQ(gpu_time(profile, matmul(4), 0).seconds, 1.0 * kMs);
  EXPECT_DOUBLE_EQ(gpu_time(profile, matmul(4), 0).bytes_per_second(), kMega / kMs);
}

TEST(processor_time, no_kernel_is_shorter_than_its_submission) {
  SocProfile profile = round_profile();
  profile.gpu.submit_seconds = 3 * kMs;
  EXPECT_DOUBLE_EQ(gpu_time(profile, matmul(1), 0).seconds, 3 * kMs);
  EXPECT_DOUBLE_EQ(gpu_time(profile, matmul(8), 0).seconds, 8 * kMs);
}

TEST(processor_time, activations_are_as_wide_as_the_profile_says) {
  SocProfile profile = round_profile();
  profile.activation_bytes = 2;
  EXPECT_DOUBLE_EQ(gpu_time(profile, matmul(3, 64), 0).bytes, 64 * 1024 + 2 * 3 * (1024 + 64));
  Glu swiglu;
  swiglu.S = 3;
  swiglu.I = 64;
  EXPECT_DOUBLE_EQ(gpu_time(profile, {"s", swiglu}, 0).bytes, 2 * 3 * 3 * 64);
}

// 4-bit weights packed with a half scale for 32 values have 4.5 bits.
TEST(processor_time, weights_are_as_wide_as_the_format_where_the_profile_does_not_say) {
  SocProfile profile = round_profile();
  profile.weight_bits = 0;
  EXPECT_DOUBLE_EQ(gpu_time(profile, matmul(1), 0).bytes, kMega * 4.5 / 8);
}

// Two query heads share one head of keys and values with 4 values each.
Attention attention(int64_t S) {
  Attention op;
  op.S = S;
  op.heads = 2;
  op.cache = kv_cache(KvType::f16, 1, 4, 4, 64);
  return op;
}

// Tokens at positions 10, 11 and 12 see 11, 12 and 13 positions, together 36. Two products of 2 heads of 4 values
// take 2 operations each: 36 * 2 * 2 * (4 + 4) = 1152. The cache has 13 positions of one head with 8 values of two
// bytes: 208.
TEST(processor_time, attention_sees_what_is_before_it) {
  SocProfile profile = round_profile();
  profile.gpu.attention_flops = 1152;
  const Attention op = attention(3);
  const OpTime time = gpu_time(profile, {"a", op}, 10);
  EXPECT_DOUBLE_EQ(time.flops, 1152);
  EXPECT_DOUBLE_EQ(time.seconds, 1);
  EXPECT_DOUBLE_EQ(time.bytes, 208);
}

// A token at position 10 sees 11 positions, which take 11 * 2 * 2 * (4 + 4) = 352 operations.
TEST(processor_time, attention_of_single_tokens_may_have_a_rate_of_its_own) {
  SocProfile profile = round_profile();
  profile.gpu.attention_flops = 352;
  Attention op = attention(1);
  EXPECT_DOUBLE_EQ(gpu_time(profile, {"a", op}, 10).seconds, 1) << "it has none";
  profile.gpu.decode_attention_flops = 176;
  EXPECT_DOUBLE_EQ(gpu_time(profile, {"a", op}, 10).seconds, 2);
  op.S = 2;  // 11 + 12 positions, more tokens than npu.decode_tokens
  EXPECT_DOUBLE_EQ(gpu_time(profile, {"a", op}, 10).seconds, 23.0 / 11);
}

// Two bytes a weight take twice the stream of a decoding graph. 1024 columns of 2 bytes are 2 KiB a token. 512 tokens
// fit in a MiB, so 64 tokens are one block. Only 32 tokens fit in 64 KiB, and then the weights stream twice.
TEST(processor_time, the_npu_streams_the_weights_once_a_block_of_tokens) {
  SocProfile profile = round_profile();
  EXPECT_NEAR(npu_time(profile, megabyte_matmul(1)).seconds, 2 * kMs, 1e-9);
  EXPECT_NEAR(npu_time(profile, megabyte_matmul(64)).seconds, 4 * kMs, 1e-9);
  EXPECT_DOUBLE_EQ(npu_time(profile, megabyte_matmul(64)).bytes, kMega);
  profile.npu.stationary_bytes = 1 << 16;
  EXPECT_NEAR(npu_time(profile, megabyte_matmul(64)).seconds, 8 * kMs, 1e-9);
  EXPECT_DOUBLE_EQ(npu_time(profile, megabyte_matmul(64)).bytes, 2 * kMega);
}

TEST(processor_time, the_npu_waits_for_a_slower_memory) {
  SocProfile profile = round_profile();
  profile.npu.bytes_per_second = kMega / (5 * kMs);
  profile.npu.launch_seconds = kMs;
  EXPECT_DOUBLE_EQ(npu_time(profile, megabyte_matmul(1)).seconds, 5 * kMs);
  EXPECT_DOUBLE_EQ(npu_time(profile, megabyte_matmul(1)).total(), 6 * kMs);
}

TEST(processor_time, the_npu_takes_matmuls_alone_and_only_with_16_bit_floats) {
  SocProfile profile = round_profile();
  EXPECT_EQ(npu_refusal(profile, matmul(1)), "");
  EXPECT_NE(npu_refusal(profile, {"n", RmsNorm{}}), "");
  profile.npu.float16 = false;
  EXPECT_EQ(npu_refusal(profile, matmul(1)), "no 16-bit floats on the NPU of round");
}

// A byte a weight streams in 2 ms. A token's 1024 codes are 1 KiB on chip, so 64 tokens are one block of 64 KiB, but
// two with halves. Memory transfers codes and a scale of four bytes for each 32 codes: 1152 bytes a token.
TEST(processor_time, 8_bit_activations_run_in_the_npu_s_integer_mode) {
  SocProfile profile = round_profile();
  profile.npu.stationary_bytes = 1 << 16;
  MatMul op = megabyte_matmul(64);
  op.act_i8 = true;
  EXPECT_NEAR(npu_time(profile, op).seconds, 8 * kMs, 1e-9) << "this one has none";
  profile.npu.int8_rate = 2;
  EXPECT_NEAR(npu_time(profile, op).seconds, 2 * kMs, 1e-9);
  EXPECT_DOUBLE_EQ(npu_time(profile, op).bytes, kMega + 64 * 1152);
  EXPECT_NEAR(npu_time(profile, megabyte_matmul(64)).seconds, 8 * kMs, 1e-9) << "floats are multiplied as before";
  // If the array itself is the limit, twice the products a cycle take half the time.
  profile.npu.stream_bytes_per_second = 1e18;
  profile.npu.clock_hz = 1e6;
  const double integers = npu_time(profile, op).seconds;
  profile.npu.int8_rate = 1;
  EXPECT_NEAR(npu_time(profile, op).seconds, 2 * integers, 1e-9);
}

TEST(processor_time, an_npu_without_floats_takes_matmuls_of_8_bit_activations) {
  SocProfile profile = round_profile();
  profile.npu.float16 = false;
  MatMul op = megabyte_matmul();
  op.act_i8 = true;
  EXPECT_EQ(npu_refusal(profile, {"m", op}), "no 16-bit floats on the NPU of round") << "it has no integer mode either";
  profile.npu.int8_rate = 1;
  EXPECT_EQ(npu_refusal(profile, {"m", op}), "");
  EXPECT_NE(npu_refusal(profile, matmul(1)), "");
}

// 0.5 s + 1 ms * 40 tokens * (1024 + 1024) columns and rows = 82.42 s.
TEST(processor_time, compiling_grows_with_the_activations) {
  SocProfile profile = round_profile();
  profile.npu.compile_graph_seconds = 0.5;
  profile.npu.compile_element_seconds = kMs;
  EXPECT_DOUBLE_EQ(compile_seconds(profile, megabyte_matmul(40)), 82.42);
  EXPECT_TRUE(has_graph(profile, 1) && has_graph(profile, 32) && has_graph(profile, 64));
  EXPECT_FALSE(has_graph(profile, 2) || has_graph(profile, 40));
}

}  // namespace
}  // namespace tandem
