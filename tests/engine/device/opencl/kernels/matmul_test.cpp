// MatMul in both families and every packed format, against a double loop over the decoded weights.
#include "engine/tensor/types.h"
#include "tests/engine/device/opencl/kernels/kernel_test.h"
#include "tests/support/scale_edges.h"

namespace tandem::opencl::test {
namespace {

constexpr StorageType kTypes[] = {StorageType::f32,  StorageType::f16,  StorageType::bf16,   StorageType::q4_0,
                                  StorageType::q4_1, StorageType::q8_0, StorageType::q5_1,   StorageType::q4_k,
                                  StorageType::q2_k, StorageType::q6_k, StorageType::iq4_nl, StorageType::q3_k};

class MatMulKernel : public KernelTest {
 protected:
  std::vector<float> multiply(MatMul op, const std::vector<float>& x) {
    op.x_stride = op.K + 5, op.y_stride = op.w.rows + 3;
    std::vector<float> spread(static_cast<size_t>(op.S * op.x_stride), NAN);  // never read: between the rows of x
    for (int64_t s = 0; s < op.S; ++s)
      std::copy_n(&x[static_cast<size_t>(s * op.K)], op.K, &spread[static_cast<size_t>(s * op.x_stride)]);
    op.x = memory_.put(spread);
    op.y = memory_.put(std::vector<float>(static_cast<size_t>(op.S * op.y_stride), 77.0f));
    const auto launches = lower_matmul(op, context_);
    EXPECT_TRUE(launches.at(0).source.ends_with(GetParam() == KernelFamily::simt ? "_simt" : "_simd"));
    runner_->run(launches);
    return values_at<float>(op.y, static_cast<size_t>(op.S * op.y_stride));
  }
};

// A processor takes one of two ways, and every other one runs it, too.
TEST_P(MatMulKernel, gives_the_same_bits_with_codes_behind_offsets_and_without) {
  if (GetParam() == KernelFamily::simt) GTEST_SKIP() << "skipped: simt kernels have no offsets";
  for (const StorageType type : {StorageType::q4_0, StorageType::q4_1}) {
    MatMul op;
    op.S = 1, op.K = 512, op.row_end = 150, op.w = make_weights(type, 150, 512);
    const auto x = random(static_cast<size_t>(op.S * op.K));
    context_.processor.joins_cost_products = false;
    const auto by_offsets = multiply(op, x);
    context_.processor.joins_cost_products = true;
    EXPECT_TRUE(same_bits(by_offsets, multiply(op, x))) << info(type).name;
  }
}

TEST_P(MatMulKernel, equals_the_decoded_product_for_every_format_and_stays_within_its_rows) {
  for (StorageType type : kTypes) {
    const bool dense = packed_format(type).dense();
    const int64_t N = 150, K = dense ? 77 : 512;
    SCOPED_TRACE(info(type).name);
    const PackedMatrix w = make_weights(type, N, K);
    for (int64_t S : {1, 3, 8, 9, 70}) {
      // Each small number of tokens is a build of its own. Only one format tries all numbers.
      if ((S == 3 || S == 8) && type != StorageType::q4_1) continue;
      for (auto [begin, end] : {std::pair<int64_t, int64_t>{0, N}, {64, 128}, {64, N}}) {
        if (S == 70 && begin != 64) continue;
        MatMul op;
        op.S = S, op.K = K, op.row_begin = begin, op.row_end = end, op.w = w;
        const auto x = random(static_cast<size_t>(S * K));
        const auto y = multiply(op, x);
        std::vector<float> row(static_cast<size_t>(K));
        for (int64_t n = 0; n < N + 3; ++n) {
          if (n < N) decode_packed_row(w.format, w.data.as<std::byte>(), K, n, row.data());
          for (int64_t s = 0; s < S; ++s) {
            const float got = y[static_cast<size_t>(s * (N + 3) + n)];
            if (n < begin || n >= end) {
              ASSERT_EQ(got, 77.0f) << "row " << n << " is not asked for";
              continue;
            }
            double want = 0, magnitude = 0;
            for (int64_t k = 0; k < K; ++k) {
              const double product =
                  static_cast<double>(row[static_cast<size_t>(k)]) * x[static_cast<size_t>(s * K + k)];
              want += product;
              magnitude += std::abs(product);
            }
            // K roundings of partial sums, each at most `magnitude`.
            ASSERT_NEAR(got, want, magnitude * static_cast<double>(K) / (1 << 24) + 1e-30)
                << "token " << s << " row " << n << " of " << S;
          }
        }
      }
    }
  }
}

TEST_P(MatMulKernel, gives_a_token_the_same_bits_in_any_batch_and_a_row_in_any_cut) {
  for (StorageType type : {StorageType::f32, StorageType::q4_1, StorageType::q6_k}) {
    for (int64_t K : {256, 1280}) {
      const int64_t N = 130;
      const PackedMatrix w = make_weights(type, N, K);
      const auto x = random(static_cast<size_t>(70 * K));
      MatMul op;
      op.S = 70, op.K = K, op.row_end = N, op.w = w;
      const auto all = multiply(op, x);
      for (int64_t S : {1, 2, 7, 20}) {
        op.S = S;
        const std::vector<float> part(x.begin() + 3 * K, x.begin() + (3 + S) * K);
        op.row_begin = 64;
        const auto some = multiply(op, part);
        for (int64_t s = 0; s < S; ++s) {
          for (int64_t n = 64; n < N; ++n) {
            ASSERT_EQ(some[static_cast<size_t>(s * (N + 3) + n)], all[static_cast<size_t>((s + 3) * (N + 3) + n)])
                << info(type).name << " S " << S;
          }
        }
        op.row_begin = 0;
      }
    }
  }
}

// The kernels for a processor with few registers run on every other processor, too.
TEST_P(MatMulKernel, gives_the_same_bits_whatever_the_registers_hold) {
  if (GetParam() == KernelFamily::simt) GTEST_SKIP() << "skipped: simt kernels take no account of registers";
  const int64_t N = 150, K = 288;
  for (StorageType type : {StorageType::f16, StorageType::q4_1}) {
    const PackedMatrix w = make_weights(type, N, K);
    for (int64_t S : {1, 2, 6, 8, 9, 72}) {
      MatMul op;
      op.S = S, op.K = K, op.row_end = N, op.w = w;
      const auto x = random(static_cast<size_t>(S * K));
      context_.vector_registers = 32;
      const auto many = multiply(op, x);
      context_.vector_registers = 8;
      EXPECT_TRUE(same_bits(multiply(op, x), many)) << info(type).name << " S " << S;
    }
  }
}

// The kernel for one token offsets the codes if that is exact for all rows of a run. The kernels for many tokens
// do not.
TEST_P(MatMulKernel, gives_the_same_bits_whatever_scales_and_minima_meet) {
  using tandem::testing::Edge;
  const Edge edges[] = {Edge::inside, Edge::below, Edge::above, Edge::anywhere};
  const int64_t N = 128, K = 512, S = 9;
  const size_t block_bytes = info(StorageType::q4_1).block_bytes;
  std::vector<std::byte> blocks(static_cast<size_t>(N) * row_bytes(StorageType::q4_1, K));
  for (std::byte& b : blocks) b = static_cast<std::byte>(generator_());
  for (size_t b = 0; b < blocks.size() / block_bytes; ++b) {
    const size_t row = b / (K / 32), run = b % (K / 32);
    const Edge edge = edges[run % 4];
    const bool here = edge == Edge::anywhere || row % 64 == run * 5 % 64;  // one row of a panel, or all of them
    const auto pair = tandem::testing::scale_and_min(here ? edge : Edge::inside, generator_);
    std::memcpy(&blocks[b * block_bytes], &pair, sizeof pair);
  }
  MatMul op;
  op.S = S, op.K = K, op.row_end = N;
  op.w.format = packed_format(StorageType::q4_1), op.w.rows = N, op.w.columns = K;
  op.w.data = memory_.room(op.w.bytes());
  pack_rows(StorageType::q4_1, blocks.data(), K, 0, N, op.w.data.as<std::byte>());
  const auto x = random(static_cast<size_t>(S * K));
  const auto many = multiply(op, x);
  op.S = 1;
  const auto one = multiply(op, x);
  for (int64_t n = 0; n < N; ++n) ASSERT_EQ(one[static_cast<size_t>(n)], many[static_cast<size_t>(n)]) << "row " << n;
}
TANDEM_BOTH_FAMILIES(MatMulKernel);

}  // namespace
}  // namespace tandem::opencl::test
