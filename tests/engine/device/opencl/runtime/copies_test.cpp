#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/opencl/opencl_device.h"
#include "tests/engine/device/bias_case.h"
#include "tests/engine/device/opencl/runtime/weights.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using test::MatMulCase;

class Copies : public testing::Test {
 protected:
  void SetUp() override {
    if (opencl_device_count().all == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
    DeviceOptions options;
    options.gpu_family = KernelFamily::simd;
    options.force_copies = true;
    device_ = open_opencl_device(0, options);
    if (!device_->info().fused_fma) GTEST_SKIP() << "skipped: this device does not fuse fma";
  }
  void run(Program& program) {
    launch_one(*device_, program, {}, {});
    device_->finish(std::chrono::seconds(60));
  }
  std::unique_ptr<Device> device_;
};

TEST_F(Copies, are_reported_and_switch_gates_off) {
  EXPECT_FALSE(device_->info().zero_copy);
  EXPECT_THAT(device_->info().zero_copy_note, testing::HasSubstr("asked for"));
  EXPECT_FALSE(device_->info().policies.back().passed);
}

TEST_F(Copies, bring_every_launch_its_inputs_and_the_host_its_results) {
  MatMulCase test(StorageType::q4_1, 5, 130, 64, 8);
  const Operator op = test.as_operator();
  const auto program = device_->prepare(std::span(&op, 1));
  std::mt19937 random(77);
  for (int round = 0; round < 3; ++round) {
    test.set_x(random);
    test.clear_y();
    run(*program);
    EXPECT_TRUE(test.correct()) << "round " << round;
  }
}

TEST_F(Copies, of_a_slice_touch_only_the_slice) {
  MatMulCase test(StorageType::q8_0, 3, 200, 64, 8);
  test.op.row_begin = 64, test.op.row_end = 128;
  const Operator op = test.as_operator();
  const auto program = device_->prepare(std::span(&op, 1));
  run(*program);
  EXPECT_TRUE(test.correct());
  const float mark = 777.0f;  // values that another device wrote beside the slice stay
  test.op.y.as<float>()[10] = mark;
  run(*program);
  EXPECT_EQ(test.op.y.as<float>()[10], mark);
}

TEST_F(Copies, leave_device_local_slots_on_the_device) {
  MatMulCase first(StorageType::f32, 2, 48, 16, 8, sync::SlotUse::device_local);
  MatMulCase second(StorageType::f32, 2, 32, 48, 9);
  second.op.x = first.op.y, second.op.x_stride = first.op.y_stride;
  const std::vector<Operator> chain{first.as_operator(), second.as_operator()};
  run(*device_->prepare(chain));
  EXPECT_EQ(first.result(), std::vector<float>(first.y_floats, test::kCanary)) << "the host's side is untouched";
  const auto expected = first.expected();
  std::copy(expected.begin(), expected.end(), first.op.y.as<float>());
  EXPECT_TRUE(second.correct()) << "yet the second operator read the first one's result";
}

TEST_F(Copies, bring_weights_once_for_all_programs) {
  sync::Pool pool;
  test::BiasCase bias(pool);
  const auto first = device_->prepare(std::span(&bias.op, 1)), second = device_->prepare(std::span(&bias.op, 1));
  float expected = 0;
  for (Program* program : {first.get(), first.get(), second.get()}) {
    run(*program);
    EXPECT_EQ(bias.last(), expected += 2);
    bias.set_weights(99);  // the device already has its copy
  }
  pool.release(bias.weights);  // acquired again for other weights
  ASSERT_EQ(&pool.acquire(bias.weights.size_bytes(), sync::SlotUse::weights, "other weights"), &bias.weights);
  bias.set_weights(5);
  run(*second);
  EXPECT_EQ(bias.last(), expected + 5);
  device_.reset();  // the device has buffers in the pool's memory
}

}  // namespace
}  // namespace tandem
