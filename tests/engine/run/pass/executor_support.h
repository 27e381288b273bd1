// A small plan on the host device and the NPU, for tests of the executor without a driver.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "engine/device/host/host_device.h"
#include "engine/device/npu/npu_device.h"
#include "engine/plan/schedule.h"
#include "engine/run/pass/executor.h"
#include "tests/engine/device/f16_product.h"

namespace tandem {

class ExecutorTest : public ::testing::Test {
 protected:
  static constexpr int64_t kS = 3, kK = 64, kN = 256;

  ExecutorTest() {
    DeviceOptions options;
    host_ = open_host_device(0, options);
    npu_ = open_npu_device(0, options);
    for (int64_t i = 0; i < kS * kK; ++i) x_.as<float>()[i] = static_cast<float>(i % 7) - 3;  // exact in f16
    testing::pack_f16_weights(w_, kN, kK, [](int64_t n, int64_t k) { return (n + 3 * k) % 11 - 5; });
  }

  // The operator y = W x.
  MatMul product() { return testing::f16_product(kS, kN, kK, w_, x_, y_); }
  // x += x, the product in two parts, then z += y. The last step waits for both parts.
  Plan plan(int64_t cut) {
    const MatMul op = product();
    const std::vector<Placed> placed = {{0, {"double x", Add{kS, kK, {&x_, 0}, {&x_, 0}, kK, kK}}},
                                        {0, {"first rows", slice_rows(op, 0, cut)}},
                                        {1, {"last rows", slice_rows(op, cut, kN)}},
                                        {0, {"sum", Add{kS, kN, {&z_, 0}, {&y_, 0}, kN, kN}}}};
    return schedule("test", {"host", "npu:0"}, placed);
  }
  // The position lies far outside the rotation's table, so the step "blk.9.rope" fails when it runs.
  Plan broken() {
    positions_.as<int32_t>()[0] = 1 << 20;
    const Rope rope{1, 1, 16, 16, RopeLayout::halves, {&z_, 0}, 16, {&positions_, 0}, {&table_, 0}, 4};
    return schedule("broken", {"host", "npu:0"}, std::vector<Placed>{{0, {"blk.9.rope", rope}}});
  }
  // The content of z after n runs. x doubles each time, so W x is 2, 4, 8 ... times the first product.
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
  sync::Slot& positions_ = pool_.acquire(64, sync::SlotUse::activations, "positions");
  sync::Slot& table_ = pool_.acquire(4096, sync::SlotUse::activations, "table");
  std::unique_ptr<Device> host_, npu_;
};

// A device that reports a driver's queue, as a GPU does. It counts launches with waits.
class GpuInName {
 public:
  explicit GpuInName(Device& behind) : device_(std::make_unique<Renamed>(behind)) {}
  Device& device() const { return *device_; }
  int launched_with_waits() const { return device_->waits; }

 private:
  struct Renamed final : Device {
    explicit Renamed(Device& behind) : behind(behind), named(behind.info()) { named.queued = true; }
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

}  // namespace tandem
