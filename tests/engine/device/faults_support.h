// Shared parts of the fault tests. A plan of three steps runs on the host and on one device, and its results are known.
// A device can be made to fail.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/device/registry.h"
#include "engine/plan/schedule.h"
#include "engine/run/pass/executor.h"
#include "engine/tensor/packed.h"
#include "sync/error.h"
#include "tests/engine/device/f16_product.h"
#include "tests/support/message_of.h"
#include "tests/support/program_folder.h"

namespace tandem::testing {

using test::message_of;

// A device and one way of running it.
struct FaultyWay {
  std::string name;  // a part of the names of tests
  std::string prefix;
  sync::Policy policy = sync::Policy::predict;
  bool copies = false;
  int64_t tokens = 3;  // with one token PoCL runs a pass as a list
};
inline void PrintTo(const FaultyWay& way, std::ostream* out) { *out << way.name; }

// Returns nullptr if there is no such device.
inline std::unique_ptr<Device> open_way(const FaultyWay& way) {
  for (const DeviceFactory& factory : device_factories()) {
    if (factory.prefix != way.prefix || factory.count().all == 0) continue;
    DeviceOptions options;
    options.program_folder = test::program_folder();
    if (way.prefix == "opencl") options.gpu_cores = {0};
    options.sync_policy = way.policy;
    options.force_copies = way.copies;
    return factory.open(0, options);
  }
  return nullptr;
}

// Passes every call on to a device, except that one launch fails.
class FaultyDevice final : public Device {
 public:
  enum class Fault {
    none,
    mute,         // the step runs and never raises its flag
    lost,         // the step does not run, and the device reports that it is lost
    twice,        // the flag is raised twice
    wrong_epoch,  // the flag is raised with the epoch of a much earlier step
  };
  explicit FaultyDevice(Device& inner) : inner_(inner) {}
  // Makes one launch fail, after `skip` more launches.
  void fail_next(Fault fault, int skip = 0) {
    fault_ = fault;
    skip_ = skip;
  }

  const DeviceInfo& info() const override { return inner_.info(); }
  Support supports(const Operator& op) const override { return inner_.supports(op); }
  std::unique_ptr<Program> prepare(std::span<const Operator> operators) override { return inner_.prepare(operators); }
  void launch(std::shared_ptr<const LaunchSequence> sequence, uint32_t base) override {
    if (fault_ == Fault::none) return inner_.launch(inners(std::move(sequence)), base);
    for (const PlannedLaunch& planned : sequence->launches()) launch(counted_from(base, planned));
  }
  Cost estimate(std::span<const Operator> operators) const override { return inner_.estimate(operators); }
  void finish(std::chrono::milliseconds deadline) override {
    inner_.finish(deadline);
    if (std::exchange(lost_, false)) throw Error("the device is lost", inner_.info().id);
  }
  DeviceLab& lab() override { return lab_of(inner_); }

 private:
  // The same sequence, with the state that the inner device has built for it.
  std::shared_ptr<const LaunchSequence> inners(std::shared_ptr<const LaunchSequence> sequence) {
    std::shared_ptr<const LaunchSequence>& made = inners_[sequence];
    if (!made) made = make_sequence(inner_, {sequence->launches().begin(), sequence->launches().end()});
    return made;
  }
  void launch(const PlannedLaunch& planned) {
    const auto& [program, waits, signal] = planned;
    if (fault_ != Fault::none && skip_-- > 0) return launch_one(inner_, *program, waits, signal);
    switch (std::exchange(fault_, Fault::none)) {
      case Fault::none:
        return launch_one(inner_, *program, waits, signal);
      case Fault::mute:
        return launch_one(inner_, *program, waits);
      case Fault::lost:
        lost_ = true;
        return signal.flag.fail("the device is lost");
      case Fault::twice:
        launch_one(inner_, *program, waits, signal);
        return launch_one(inner_, *program, waits, signal);
      case Fault::wrong_epoch:
        return launch_one(inner_, *program, waits, {signal.flag, 1});
    }
  }

  Device& inner_;
  std::map<std::shared_ptr<const LaunchSequence>, std::shared_ptr<const LaunchSequence>> inners_;
  Fault fault_ = Fault::none;
  int skip_ = 0;
  bool lost_ = false;
};

// The plan runs x += x on the host, y = W x on the device under test, and z += y on the host. All values are small
// integers, so they are exact on every device.
class FaultPlan {
 public:
  static constexpr int64_t kK = 64, kN = 128;

  explicit FaultPlan(int64_t tokens) : S(tokens) {
    testing::pack_f16_weights(w_, kN, kK, [](int64_t n, int64_t k) { return (n + 3 * k) % 5 - 2; });
  }
  Operator product() const { return {"blk.0.product", testing::f16_product(S, kN, kK, w_, x_, y_)}; }
  Plan plan(const std::string& device) const {
    const std::vector<Placed> placed = {{1, {"blk.0.double", Add{S, kK, {&x_, 0}, {&x_, 0}, kK, kK}}},
                                        {0, product()},
                                        {1, {"blk.0.sum", Add{S, kN, {&z_, 0}, {&y_, 0}, kN, kN}}}};
    return schedule("faults", {device, "host"}, placed);
  }
  void reset() {
    for (int64_t i = 0; i < S * kK; ++i) x_.as<float>()[i] = static_cast<float>(i % 7) - 3;
    std::fill_n(y_.as<float>(), S * kN, -1.0f);
    std::fill_n(z_.as<float>(), S * kN, 1.0f);
  }
  // The number of wrong values after reset() and one run.
  int wrong() const {
    int count = 0;
    for (int64_t s = 0; s < S; ++s) {
      for (int64_t n = 0; n < kN; ++n) {
        float sum = 1;
        for (int64_t k = 0; k < kK; ++k)
          sum += static_cast<float>((n + 3 * k) % 5 - 2) * 2 * static_cast<float>((s * kK + k) % 7 - 3);
        count += z_.as<float>()[s * kN + n] != sum;
      }
    }
    return count;
  }

  const int64_t S;
  sync::Pool pool;

 private:
  sync::Slot& x_ = pool.acquire(static_cast<size_t>(S * kK * 4), sync::SlotUse::activations, "x");
  sync::Slot& y_ = pool.acquire(static_cast<size_t>(S * kN * 4), sync::SlotUse::activations, "y");
  sync::Slot& z_ = pool.acquire(static_cast<size_t>(S * kN * 4), sync::SlotUse::activations, "z");
  sync::Slot& w_ =
      pool.acquire(packed_bytes(packed_format(StorageType::f16), kN, kK), sync::SlotUse::weights, "weights");
};

// A device under test beside the host, with an executor over both.
class FaultBench {
 public:
  explicit FaultBench(const FaultyWay& way, std::chrono::milliseconds deadline = std::chrono::seconds(60))
      : plan(way.tokens), host_(open_device("host", {})), device_(open_way(way)) {
    if (device_) start(way, deadline);
  }
  bool open() const { return device_ != nullptr; }
  // Opens the devices and the executor again, on the same memory.
  void reopen(const FaultyWay& way) {
    prepared_.reset();
    executor_.reset();
    faulty.reset();
    device_.reset();
    device_ = open_way(way);
    start(way, std::chrono::seconds(60));
  }
  void prepare() { prepared_ = executor_->prepare(plan.plan(device_->info().id)); }
  std::string run() {  // the error, or ""
    plan.reset();
    return message_of([&] {
      if (!prepared_) prepare();
      executor_->run(*prepared_);
    });
  }
  ::testing::AssertionResult runs_well() {
    const std::string error = run();
    if (!error.empty()) return ::testing::AssertionFailure() << error;
    if (const int wrong = plan.wrong()) return ::testing::AssertionFailure() << wrong << " wrong values";
    return ::testing::AssertionSuccess();
  }
  Device& device() { return *device_; }

  FaultPlan plan;

 private:
  void start(const FaultyWay& way, std::chrono::milliseconds deadline) {
    faulty = std::make_unique<FaultyDevice>(*device_);
    executor_ = std::make_unique<Executor>(plan.pool, std::vector<Device*>{faulty.get(), faulty_host.get()},
                                           ExecutorOptions{way.policy, deadline, {}});
  }
  std::unique_ptr<Device> host_, device_;  // destroyed before the plan's pool

 public:
  std::unique_ptr<FaultyDevice> faulty, faulty_host = std::make_unique<FaultyDevice>(*host_);

 private:
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<PreparedPlan> prepared_;
};

}  // namespace tandem::testing
