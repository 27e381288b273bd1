// Calibration from a machine's rows and chains, on the host device and the NPU. The tests only check that times
// are positive.
#include "engine/measure/calibrate.h"

#include <gtest/gtest.h>

#include "engine/device/host/host_device.h"
#include "engine/device/npu/npu_device.h"
#include "sync/error.h"

namespace tandem {
namespace {

ProfileRow row(const char* device, const char* kind, int64_t S, double flops, double least) {
  ProfileRow r{device, kind, ""};
  r.S = S;
  r.flops = flops;
  r.attention = r.kind == "attention";
  r.seconds = {2 * least, least, 3 * least, 7};
  return r;
}

// The small operators of one token take 1, 2 and 6 us, with the median 2. Attention, other devices and rows of more
// tokens do not count.
TEST(Calibrate, takes_the_least_of_each_operators_samples) {
  std::vector<ProfileRow> rows = {row("gpu", "rms_norm", 1, 10, 1e-6),   row("gpu", "rope", 1, 10, 2e-6),
                                  row("gpu", "swiglu", 1, 10, 6e-6),     row("host", "swiglu", 1, 10, 1),
                                  row("gpu", "swiglu", 8, 10, 1),        row("gpu", "attention", 1, 50, 3e-6),
                                  row("gpu", "attention", 8, 400, 4e-6), row("npu", "matmul", 1, 10, 5e-6)};
  rows.back().matmul = {"f16", 1, 64, 128, false};
  const MachineMeasurements measured = measurements_of(rows, "gpu", "npu");
  EXPECT_EQ(measured.kernel_seconds, 2e-6);
  ASSERT_EQ(measured.token_attention.size(), 1u);
  EXPECT_EQ(measured.token_attention[0].amount, 50);
  ASSERT_EQ(measured.attention.size(), 1u);
  EXPECT_EQ(measured.attention[0].seconds, 4e-6);
  ASSERT_EQ(measured.npu.size(), 1u);
  EXPECT_EQ(measured.npu[0].seconds, 5e-6);
  EXPECT_TRUE(measured.gpu.empty());
  EXPECT_THROW(measurements_of(rows, "npu", "gpu"), Error) << "no small operator ran there";
}

class Chains : public ::testing::Test {
 protected:
  static constexpr int64_t kK = 64;

  Operand slot(int64_t floats) {
    return {&pool_.acquire(static_cast<size_t>(floats) * 4, sync::SlotUse::activations, "chained"), 0};
  }
  Operator matmul(int64_t rows) {
    MatMul op;
    op.S = 2;
    op.K = op.x_stride = kK;
    op.row_end = op.y_stride = rows;
    const PackedFormat format = packed_format(StorageType::f16);
    op.w = {format, rows, kK, {&pool_.acquire(packed_bytes(format, rows, kK), sync::SlotUse::weights, "w"), 0}};
    op.x = x_;
    op.y = slot(2 * rows);
    return {"m", op};
  }
  Operator norm() {
    RmsNorm op;
    op.S = 2;
    op.width = op.x_stride = kK;
    op.x = op.y = x_;
    op.weight = slot(kK);
    return {"norm", op};
  }

  sync::Pool pool_;
  Operand x_ = slot(2 * kK);
  std::unique_ptr<Device> host_ = open_host_device(0, {}), npu_ = open_npu_device(0, {});
  Executor executor_{pool_, {host_.get(), npu_.get()}, {sync::Policy::predict, std::chrono::seconds(60), {}}};
};

TEST_F(Chains, run_on_both_devices_at_once_and_in_turn) {
  const std::vector<Operator> pass = {norm(), matmul(320), matmul(128)};
  const CutChain chain = measure_cut_chain(executor_, *host_, *npu_, pass);
  EXPECT_GT(chain.bytes_per_second, 0);
  EXPECT_GE(chain.join_seconds, 0);
}

TEST_F(Chains, need_a_matmul_that_can_be_cut_and_a_norm) {
  EXPECT_THROW(measure_cut_chain(executor_, *host_, *npu_, std::vector{norm(), matmul(64)}), Error) << "one panel";
  EXPECT_THROW(measure_cut_chain(executor_, *host_, *npu_, std::vector{matmul(128)}), Error) << "no norm";
}

}  // namespace
}  // namespace tandem
