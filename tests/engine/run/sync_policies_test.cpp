// Every --sync policy in runs on a GPU device and the NPU: the same values, bounded failures, and a next run
// that works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/device/npu/npu_device.h"
#include "engine/device/registry.h"
#include "engine/plan/schedule.h"
#include "engine/run/pass/executor.h"
#include "sync/error.h"
#include "tests/engine/device/f16_product.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

struct Case {
  std::string prefix;
  sync::Policy policy = sync::Policy::blocking;
};
void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c.policy) << " on " << c.prefix; }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* prefix : {"opencl", "vulkan", "host"})
    for (const sync::Policy policy : sync::kPolicies) all.push_back({prefix, policy});
  return all;
}

class SyncPolicies : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kK = 64, kN = 256;

  void SetUp() override {
    DeviceOptions options;
    options.gpu_cores = {0};
    options.sync_policy = GetParam().policy;
    configure_drivers(options);
    for (const std::string& id : available_devices()) {
      if (!id.starts_with(GetParam().prefix) || first_) continue;
      DeviceOptions any = options;
      any.sync_policy = sync::Policy::predict;
      const auto tried = open_device(id, any);
      for (const PolicyTest& test : tried->info().policies)
        if (test.policy == GetParam().policy && !test.passed) GTEST_SKIP() << "skipped: " << id << ": " << test.reason;
      if (GetParam().policy == sync::Policy::doorbell && GetParam().prefix == "opencl" &&
          tried->info().compute_units > 1)
        GTEST_SKIP() << "skipped: " << id << ": runs wait by a doorbell on a single worker only";
      first_ = open_device(id, options);
    }
    if (!first_) SKIP_OR_FAIL(test::needs_of(GetParam().prefix), "no " + GetParam().prefix + " device");
    npu_ = open_npu_device(0, options);
    for (int64_t k = 0; k < kK; ++k) x_.as<float>()[k] = static_cast<float>(k % 7) - 3;  // exact in f16
    testing::pack_f16_weights(w_, kN, kK, [](int64_t n, int64_t k) { return (n + 3 * k) % 11 - 5; });
  }

  // Doubles x, runs y = W x in two parts on two devices, then z += y, which waits for both.
  Plan plan() {
    const MatMul op = testing::f16_product(1, kN, kK, w_, x_, y_);
    const std::vector<Placed> placed = {{0, {"double x", Add{1, kK, {&x_, 0}, {&x_, 0}, kK, kK}}},
                                        {0, {"first rows", slice_rows(op, 0, 128)}},
                                        {1, {"last rows", slice_rows(op, 128, kN)}},
                                        {0, {"sum", Add{1, kN, {&z_, 0}, {&y_, 0}, kN, kN}}}};
    return schedule("test", {first_->info().id, npu_->info().id}, placed);
  }
  // The content of z after n runs: W x is 2, 4, 8 ... times the first product.
  void expect_runs(int runs) const {
    for (int64_t n = 0; n < kN; ++n) {
      float product = 0;
      for (int64_t k = 0; k < kK; ++k)
        product += static_cast<float>((n + 3 * k) % 11 - 5) * static_cast<float>(k % 7 - 3);
      ASSERT_EQ(z_.as<float>()[n], product * static_cast<float>((2 << runs) - 2)) << n;
    }
  }

  sync::Pool pool_;
  sync::Slot& x_ = pool_.acquire(kK * 4, sync::SlotUse::activations, "x");
  sync::Slot& y_ = pool_.acquire(kN * 4, sync::SlotUse::activations, "y");
  sync::Slot& z_ = pool_.acquire(kN * 4, sync::SlotUse::activations, "z");
  sync::Slot& w_ = pool_.acquire(packed_bytes(packed_format(StorageType::f16), kN, kK), sync::SlotUse::weights, "w");
  std::unique_ptr<Device> first_, npu_;
};

TEST_P(SyncPolicies, give_the_same_values_again_and_again) {
  Executor executor(pool_, {first_.get(), npu_.get()}, {GetParam().policy, std::chrono::seconds(60), {}});
  const auto prepared = executor.prepare(plan());
  constexpr int kRuns = 6;  // x stays exact in f16
  for (int run = 0; run < kRuns; ++run) executor.run(*prepared);
  expect_runs(kRuns);
  EXPECT_EQ(prepared->predictor().samples(), kRuns);
  EXPECT_GE(prepared->predictor().relative_error(), 0.0);
}

// The first device gets a wait that can only fail. The failed step is named, and the next run works.
TEST_P(SyncPolicies, end_a_run_whose_flag_never_comes_and_run_the_next) {
  sync::FlagBank bank(pool_, 2, "nobody");
  const sync::Flag nobody = bank.make("raised by nobody"), out = bank.make("behind it");
  const Operator op{"waits for nobody", Add{1, kK, {&y_, 0}, {&x_, 0}, kK, kK}};
  const auto program = first_->prepare(std::span(&op, 1));
  const sync::WaitFor waits[] = {{nobody, 1}};
  launch_one(*first_, *program, waits, {out, 1});
  sync::WaitContext context;
  const std::string id = first_->info().id;
  context.step = op.name, context.device = id, context.deadline = milliseconds(50);
  try {
    sync::make_waiter(GetParam().policy)->wait(out, 1, context);
    FAIL() << "a flag that nobody raised was seen";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("deadline"));
    EXPECT_THAT(error.what(), HasSubstr(op.name));
    EXPECT_THAT(error.what(), HasSubstr(id));
    EXPECT_THAT(error.what(), HasSubstr("wanted epoch 1, seen 0"));
  }
  nobody.fail("given up");
  EXPECT_THROW(first_->finish(std::chrono::seconds(60)), Error);
  EXPECT_TRUE(out.failed());
  EXPECT_FALSE(out.reached(1));
  Executor executor(pool_, {first_.get(), npu_.get()}, {GetParam().policy, std::chrono::seconds(60), {}});
  executor.run(*executor.prepare(plan()));
  expect_runs(1);
}

INSTANTIATE_TEST_SUITE_P(Devices, SyncPolicies, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.prefix + "_" + name_of(info.param.policy); });

}  // namespace
}  // namespace tandem
