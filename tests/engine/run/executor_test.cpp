// The executor on the host device and the NPU: no driver needed, and the thread sanitizer sees everything.
#include "engine/run/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/host/host_device.h"
#include "engine/device/npu/npu_device.h"
#include "engine/device/registry.h"
#include "engine/plan/schedule.h"
#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

class ExecutorTest : public ::testing::Test {
 protected:
  static constexpr int64_t kS = 3, kK = 64, kN = 256;

  ExecutorTest() {
    DeviceOptions options;
    host_ = open_host_device(0, options);
    npu_ = open_npu_device(0, options);
    for (int64_t i = 0; i < kS * kK; ++i) x_.as<float>()[i] = static_cast<float>(i % 7) - 3;  // exact in f16
    std::vector<uint16_t> row(kK);
    for (int64_t n = 0; n < kN; ++n) {
      for (int64_t k = 0; k < kK; ++k)
        row[static_cast<size_t>(k)] = float_to_half(static_cast<float>((n + 3 * k) % 11) - 5);
      pack_rows(StorageType::f16, row.data(), kK, n, 1, w_.data());
    }
  }

  // y = W x in two parts, then z += y: the last step waits for both.
  Plan plan(int64_t cut) {
    MatMul op;
    op.S = kS;
    op.K = op.x_stride = kK;
    op.row_end = op.y_stride = kN;
    op.w = {packed_format(StorageType::f16), kN, kK, {&w_, 0}};
    op.x = {&x_, 0};
    op.y = {&y_, 0};
    const std::vector<Placed> placed = {{0, {"double x", Add{kS, kK, {&x_, 0}, {&x_, 0}, kK, kK}}},
                                        {0, {"first rows", slice_rows(op, 0, cut)}},
                                        {1, {"last rows", slice_rows(op, cut, kN)}},
                                        {0, {"sum", Add{kS, kN, {&z_, 0}, {&y_, 0}, kN, kN}}}};
    return schedule("test", {"host", "npu:0"}, placed);
  }
  // What n runs leave in z: x doubles each time, so W x is 2, 4, 8 ... times the first one.
  float expected(int64_t s, int64_t n, int runs) const {
    float product = 0;
    for (int64_t k = 0; k < kK; ++k)
      product += static_cast<float>((n + 3 * k) % 11 - 5) * static_cast<float>((s * kK + k) % 7 - 3);
    return product * static_cast<float>((2 << runs) - 2);
  }

  sync::Pool pool_;
  sync::Slot& x_ = pool_.acquire(kS * kK * 4, sync::SlotUse::activations, "x");
  sync::Slot& y_ = pool_.acquire(kS * kN * 4, sync::SlotUse::activations, "y");
  sync::Slot& z_ = pool_.acquire(kS * kN * 4, sync::SlotUse::activations, "z");
  sync::Slot& w_ = pool_.acquire(packed_bytes(packed_format(StorageType::f16), kN, kK), sync::SlotUse::weights, "w");
  std::unique_ptr<Device> host_, npu_;
};

// Another device under the name of a GPU; it counts what was launched with something to wait for.
class GpuInName {
 public:
  explicit GpuInName(Device& behind) : device_(std::make_unique<Renamed>(behind)) {}
  Device& device() const { return *device_; }
  int launched_with_waits() const { return device_->waits; }

 private:
  struct Renamed final : Device {
    explicit Renamed(Device& behind) : behind(behind), named(behind.info()) { named.kind = DeviceKind::gpu; }
    const DeviceInfo& info() const override { return named; }
    Support supports(const Operator& op) const override { return behind.supports(op); }
    std::unique_ptr<Program> prepare(std::span<const Operator> operators) override { return behind.prepare(operators); }
    void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) override {
      for (const PlannedLaunch& planned : sequence->launches()) waits += planned.waits.empty() ? 0 : 1;
      behind.launch(std::move(sequence), base);
    }
    Cost estimate(std::span<const Operator> operators) const override { return behind.estimate(operators); }
    void finish(std::chrono::milliseconds deadline) override { behind.finish(deadline); }
    DeviceLab& lab() override { return lab_of(behind); }
    Device& behind;
    DeviceInfo named;
    int waits = 0;
  };
  std::unique_ptr<Renamed> device_;
};

class EveryPolicy : public ExecutorTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryPolicy, runs_both_parts_of_a_cut_matmul_in_the_right_order_again_and_again) {
  Executor executor(pool_, {host_.get(), npu_.get()}, {sync::policy_named(GetParam()), std::chrono::seconds(60), {}});
  const auto prepared = executor.prepare(plan(128));
  constexpr int kRuns = 6;  // x stays exact in f16
  for (int run = 0; run < kRuns; ++run) EXPECT_GT(executor.run(*prepared), 0.0);
  for (int64_t s = 0; s < kS; ++s) {
    for (int64_t n = 0; n < kN; ++n) ASSERT_EQ(z_.as<float>()[s * kN + n], expected(s, n, kRuns)) << s << " " << n;
  }
}

// H7: the other submission order gives the same numbers. There is no driver here, so the host plays the GPU.
TEST_P(EveryPolicy, submits_what_waits_for_the_npu_when_the_npu_has_ended) {
  const GpuInName gpu(*host_);
  Executor executor(pool_, {&gpu.device(), npu_.get()}, {sync::policy_named(GetParam()), std::chrono::seconds(60), {}});
  Plan following = plan(128);
  following.dominant = Dominant::npu;
  const auto prepared = executor.prepare(following);
  constexpr int kRuns = 6;
  for (int run = 0; run < kRuns; ++run) EXPECT_GT(executor.run(*prepared), 0.0);
  EXPECT_EQ(gpu.launched_with_waits(), 0);
  for (int64_t s = 0; s < kS; ++s) {
    for (int64_t n = 0; n < kN; ++n) ASSERT_EQ(z_.as<float>()[s * kN + n], expected(s, n, kRuns)) << s << " " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPolicy, ::testing::ValuesIn(sync::waiter_names()));

// The NPU's queue takes the steps of both devices: in any other order than the plan's the first wait would hang.
TEST_F(ExecutorTest, runs_two_devices_that_share_one_thread) {
  const auto beside = open_host_on(*npu_, {});
  Executor executor(pool_, {beside.get(), npu_.get()},
                    {sync::Policy::predict, std::chrono::seconds(20), {"host", "npu:0"}});
  const auto prepared = executor.prepare(plan(128));
  for (int run = 0; run < 3; ++run) executor.run(*prepared);
  EXPECT_EQ(z_.as<float>()[5], expected(0, 5, 3));
}

TEST_F(ExecutorTest, names_the_step_that_failed_and_runs_the_next_plan_as_if_nothing_had_happened) {
  Executor executor(pool_, {host_.get(), npu_.get()}, {sync::Policy::predict, std::chrono::seconds(60), {"npu:0"}});
  sync::Slot& positions = pool_.acquire(64, sync::SlotUse::activations, "positions");
  sync::Slot& table = pool_.acquire(4096, sync::SlotUse::activations, "table");
  positions.as<int32_t>()[0] = 1 << 20;  // far outside the rotation table
  Rope rope{1, 1, 16, 16, RopeLayout::halves, {&z_, 0}, 16, {&positions, 0}, {&table, 0}, 4};
  const auto broken =
      executor.prepare(schedule("broken", {"host", "npu:0"}, std::vector<Placed>{{0, {"blk.9.rope", rope}}}));
  const auto good = executor.prepare(plan(64));
  for (int round = 1; round <= 3; ++round) {
    try {
      executor.run(*broken);
      FAIL() << "a position outside the table went unnoticed";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("blk.9.rope"));
      EXPECT_THAT(error.what(), HasSubstr("host"));
    }
    executor.run(*good);
    EXPECT_EQ(z_.as<float>()[5], expected(0, 5, round));
  }
}

TEST_F(ExecutorTest, records_measured_spans_of_every_device_and_the_npus_modelled_ones) {
  Executor executor(pool_, {host_.get(), npu_.get()}, {sync::Policy::spin, std::chrono::seconds(60), {}});
  const auto prepared = executor.prepare(plan(128));
  Timeline timeline;
  executor.record(&timeline);
  executor.run(*prepared);
  executor.record(nullptr);
  executor.run(*prepared);  // leaves nothing
  int host = 0, npu = 0, modelled = 0;
  for (const Span& span : timeline.spans()) {
    EXPECT_LE(span.start_seconds, span.end_seconds) << span.track;
    host += span.track == "host";
    npu += span.track == "npu:0";
    modelled += span.modelled;
    EXPECT_EQ(span.modelled, span.track == "npu:0 (model clock)") << span.track;
  }
  EXPECT_EQ(host, 3);
  EXPECT_EQ(npu, 1);
  EXPECT_EQ(modelled, 1);
  EXPECT_GT(timeline.busy_seconds("npu:0"), 0.0);
}

TEST_F(ExecutorTest, refuses_a_plan_for_a_device_that_is_not_open) {
  Executor executor(pool_, {host_.get()}, {sync::Policy::predict, std::chrono::seconds(60), {}});
  EXPECT_THROW(executor.prepare(plan(128)), Error);
}

}  // namespace
}  // namespace tandem
