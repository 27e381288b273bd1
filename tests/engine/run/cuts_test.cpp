// Every kind of cut on real devices. The NPU's padding must not change the batch's tokens. Inputs are small integers,
// so every device has the same sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/device/registry.h"
#include "engine/plan/partition/candidates.h"
#include "engine/plan/partition/part_operator.h"
#include "engine/plan/schedule.h"
#include "engine/run/pass/executor.h"
#include "tests/engine/device/every_device.h"
#include "tests/engine/device/f16_product.h"
#include "tests/engine/plan/listed_cuts.h"
#include "tests/support/program_folder.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

constexpr int64_t kColumns = 64, kRows = 192, kRoom = 384;
constexpr int64_t kLengths[] = {1, 7, 33, 135, 300};

std::vector<Cut> all_cuts(int64_t S) {
  const CutLimits limits{{1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 384}, 64, 32, kRoom};
  std::vector<Cut> cuts;
  for (const auto& some : {testing::listed(row_cutting(S, kRows, limits)), sequence_cutting(S, kRows, limits),
                           multi_sequence_cutting(S, kRows, limits), testing::listed(hybrid_cutting(S, kRows, limits))})
    cuts.insert(cuts.end(), some.begin(), some.end());
  for (const auto& cut : {padding(S, kRows, limits), pipe(S, kRows, limits)})
    if (cut) cuts.push_back(*cut);
  return cuts;
}

class CutsOn : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::ranges::count(available_devices(), GetParam()))
      SKIP_OR_FAIL(test::needs_of(GetParam()), "there is no " + GetParam());
    DeviceOptions options;
    options.program_folder = test::program_folder();
    configure_drivers(options);
    gpu_ = open_device(GetParam(), options);
    npu_ = open_device("npu:0", options);
    for (int64_t i = 0; i < kRoom * kColumns; ++i) x_.as<float>()[i] = x_at(i / kColumns, i % kColumns);
    testing::pack_f16_weights(w_, kRows, kColumns, w_at);
  }
  static float x_at(int64_t s, int64_t k) { return static_cast<float>((5 * s + k) % 7 - 3); }
  static float w_at(int64_t n, int64_t k) { return static_cast<float>((n + 3 * k) % 11 - 5); }
  static float product(int64_t s, int64_t n) {
    float sum = 0;
    for (int64_t k = 0; k < kColumns; ++k) sum += x_at(s, k) * w_at(n, k);
    return sum;
  }

  // The parts of the cut run y = W x. Then z += y on the GPU waits for both sides.
  Plan plan(int64_t S, const Cut& cut) const {
    const MatMul matmul = testing::f16_product(S, kRows, kColumns, w_, x_, y_);
    std::vector<Placed> placed;
    for (const Part& part : cut.parts)
      placed.push_back({part.side == Side::general ? 0 : 1, part_operator({"matmul", matmul}, part)});
    placed.push_back({0, {"use", Add{S, kRows, {&z_, 0}, {&y_, 0}, kRows, kRows}}});
    return schedule("cut", {GetParam(), "npu:0"}, placed);
  }

  // A cut uses both sides. Two kinds of cuts are exceptions: the NPU alone multiplies all rows, in one graph or
  // in several.
  static void expect_both_sides_multiply(const Cut& cut) {
    int64_t gpu = 0, npu = 0;
    for (const Part& part : cut.parts) (part.side == Side::general ? gpu : npu) += part.tokens() * part.rows();
    EXPECT_GT(npu, 0);
    if (cut.kind == CutKind::npu_all || cut.kind == CutKind::pipe) {
      EXPECT_EQ(gpu, 0);
    } else {
      EXPECT_GT(gpu, 0);
    }
  }

  sync::Pool pool_;
  sync::Slot& x_ = pool_.acquire(kRoom * kColumns * 4, sync::SlotUse::activations, "x");
  sync::Slot& y_ = pool_.acquire(kRoom * kRows * 4, sync::SlotUse::activations, "y");
  sync::Slot& z_ = pool_.acquire(kRoom * kRows * 4, sync::SlotUse::activations, "z");
  sync::Slot& w_ =
      pool_.acquire(packed_bytes(packed_format(StorageType::f16), kRows, kColumns), sync::SlotUse::weights, "w");
  std::unique_ptr<Device> gpu_, npu_;
};

TEST_P(CutsOn, compute_every_token_of_every_row_once) {
  Executor executor(pool_, {gpu_.get(), npu_.get()}, {sync::Policy::predict, std::chrono::seconds(60), {}});
  std::set<CutKind> kinds;
  for (const int64_t S : kLengths) {
    for (const Cut& cut : all_cuts(S)) {
      SCOPED_TRACE(std::to_string(S) + " tokens, " + to_string(cut.kind) + ": " + to_string(cut));
      kinds.insert(cut.kind);
      expect_both_sides_multiply(cut);
      const auto prepared = executor.prepare(plan(S, cut));
      std::fill_n(y_.as<float>(), kRoom * kRows, std::numeric_limits<float>::quiet_NaN());
      std::fill_n(z_.as<float>(), kRoom * kRows, 0.0f);
      executor.run(*prepared);
      for (int64_t s = 0; s < S; ++s) {
        for (int64_t n = 0; n < kRows; ++n)
          ASSERT_EQ(z_.as<float>()[s * kRows + n], product(s, n)) << "token " << s << ", row " << n;
      }
    }
  }
  EXPECT_EQ(kinds, (std::set{CutKind::npu_all, CutKind::pipe, CutKind::row, CutKind::sequence, CutKind::multi_sequence,
                             CutKind::hybrid}));
}

INSTANTIATE_TEST_SUITE_P(Gpus, CutsOn, ::testing::ValuesIn(test::first_ids({DeviceKind::gpu, DeviceKind::host})),
                         [](const auto& info) { return info.param.substr(0, 6); });

}  // namespace
}  // namespace tandem
