#include <gtest/gtest.h>

#include "engine/device/opencl/opencl_device.h"
#include "tests/engine/device/opencl/runtime/weights.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using test::MatMulCase;
constexpr std::chrono::seconds kDeadline{60};

class MatMulBits : public testing::Test {
 protected:
  void SetUp() override {
    if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
    DeviceOptions options;
    options.gpu_family = KernelFamily::simd;
    device_ = open_opencl_device(0, options);
    if (!device_->info().fused_fma) GTEST_SKIP() << "skipped: this device does not fuse fma";
  }
  void run(std::span<const Operator> operators) {
    const auto program = device_->prepare(operators);
    launch_one(*device_, *program, {}, {});
    device_->finish(kDeadline);
  }
  void run(const MatMulCase& test) {
    const Operator op = test.as_operator();
    run(std::span(&op, 1));
  }
  std::unique_ptr<Device> device_;
};

int64_t block_multiple(StorageType type, int64_t columns) {
  const int64_t block = packed_format(type).super_blocks() ? 256 : info(type).block_values;
  return (columns + block - 1) / block * block;
}

TEST_F(MatMulBits, every_storage_type_gives_the_bits_of_one_ascending_fma_chain) {
  for (const StorageTypeInfo& type : storage_types()) {
    for (int64_t S : {1, 3, 7, 13}) {
      MatMulCase test(type.type, S, 130, block_multiple(type.type, 288), 11 + S);
      run(test);
      EXPECT_TRUE(test.correct()) << type.name << " S=" << S;
    }
  }
}

TEST_F(MatMulBits, every_number_of_tokens_from_1_to_20_gives_the_same_bits) {
  for (int64_t S = 1; S <= 20; ++S) {
    MatMulCase test(StorageType::q4_1, S, 97, 320, 5);
    run(test);
    EXPECT_TRUE(test.correct()) << "S=" << S;
  }
}

TEST_F(MatMulBits, rows_and_columns_may_be_any_number_and_nothing_beyond_them_is_written) {
  for (int64_t N : {1, 15, 16, 17, 63, 64, 65, 193}) {
    for (int64_t K : {1, 2, 31, 33, 255, 257, 515}) {
      for (int64_t S : {1, 6, 11}) {
        MatMulCase test(StorageType::f16, S, N, K, 3);
        run(test);
        EXPECT_TRUE(test.correct()) << "S=" << S << " N=" << N << " K=" << K;
      }
    }
  }
}

TEST_F(MatMulBits, slices_of_rows_give_the_bits_of_the_whole) {
  for (int64_t S : {1, 5, 9}) {
    MatMulCase test(StorageType::q4_k, S, 200, 512, 9);
    run(test);
    const std::vector<float> whole = test.result();
    EXPECT_TRUE(test.correct());
    test.clear_y();
    std::vector<Operator> slices;
    const int64_t cuts[] = {0, 64, 192, 200};
    for (int i = 2; i >= 0; --i) {  // in any order
      MatMul slice = test.op;
      slice.row_begin = cuts[i], slice.row_end = cuts[i + 1];
      slices.push_back({"slice", slice});
    }
    run(slices);
    EXPECT_TRUE(MatMulCase::same_bits(whole, test.result())) << "S=" << S;
  }
}

TEST_F(MatMulBits, a_token_does_not_depend_on_the_tokens_beside_it) {
  MatMulCase all(StorageType::q8_0, 19, 70, 64, 21);
  run(all);
  const std::vector<float> together = all.result();
  all.clear_y();
  std::vector<Operator> alone;
  for (int64_t s = 0; s < all.op.S; ++s) {
    MatMul one = all.op;
    one.S = 1;
    one.x = one.x.advanced(s * one.x_stride * 4);
    one.y = one.y.advanced(s * one.y_stride * 4);
    alone.push_back({"token", one});
  }
  run(alone);
  EXPECT_TRUE(MatMulCase::same_bits(together, all.result()));
}

TEST_F(MatMulBits, no_tokens_or_no_rows_writes_nothing) {
  MatMulCase test(StorageType::q4_0, 2, 64, 32);
  std::vector<Operator> empty{test.as_operator(), test.as_operator()};
  std::get<MatMul>(empty[0].body).S = 0;
  std::get<MatMul>(empty[1].body).row_end = 0;
  run(empty);
  EXPECT_EQ(test.result(), std::vector<float>(test.y_floats, test::kCanary));
}

}  // namespace
}  // namespace tandem
