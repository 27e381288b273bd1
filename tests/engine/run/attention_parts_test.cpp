// Parts of an attention run at once on a GPU and on the host beside the NPU, over one cache. They give the bits of the
// whole on the host. The tests use every way to share it, also at depths for which the plan was not made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "engine/device/registry.h"
#include "engine/plan/partition/attention_cut.h"
#include "engine/plan/schedule.h"
#include "engine/run/pass/core_layout.h"
#include "engine/run/pass/executor.h"
#include "sync/affinity.h"
#include "tests/support/program_folder.h"
#include "tests/support/requirements.h"

namespace tandem {
namespace {

constexpr int64_t kHeads = 9, kKvHeads = 3, kHeadDim = 64, kCapacity = 2560, kMostTokens = 5;
constexpr int kGpu = 0, kHost = 2;

class SharedAttention : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::ranges::count(available_devices(), "opencl:0")) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
    const CoreLayout layout = lay_out_cores(usable_cores());
    DeviceOptions options;
    options.gpu_cores = layout.gpu;
    options.npu_cores = layout.npu;
    options.program_folder = test::program_folder();
    configure_drivers(options);
    gpu_ = open_device("opencl:0", options);
    if (!gpu_->info().zero_copy || !gpu_->info().fused_fma) GTEST_SKIP() << "skipped: bits or memory of its own";
    npu_ = open_device("npu:0", options);
    host_ = open_host_on(*npu_, options);
    ExecutorOptions executor;
    executor.sync_policy = layout.may_spin ? sync::Policy::predict : sync::Policy::blocking;
    executor.shares_core = {"npu:0", "host"};
    executor_ = std::make_unique<Executor>(pool_, std::vector{gpu_.get(), npu_.get(), host_.get()}, executor);
    std::mt19937 random(7);
    std::uniform_real_distribution<float> value(-1, 1);
    for (sync::Slot* slot : {&q_, &kv_})
      for (size_t i = 0; i < slot->size_bytes() / 4; ++i) slot->as<float>()[i] = 2 * value(random);
    cache_.k = {&slot(cache_.k_bytes(), "k"), 0}, cache_.v = {&slot(cache_.v_bytes(), "v"), 0};
    for (int64_t page = 0; page < cache_.pages; ++page)  // in falling order
      pages_.as<int32_t>()[page] = static_cast<int32_t>(cache_.pages - 1 - page);
    for (const Operand& cached : {cache_.k, cache_.v})
      for (size_t i = 0; i < cache_.k_bytes() / 2; ++i) cached.as<uint16_t>()[i] = float_to_half(value(random));
  }

  Attention attention(int64_t S) {
    Attention op;
    op.S = S;
    op.heads = kHeads;
    op.q = {&q_, 0};
    op.y = {&y_, 0};
    op.q_stride = op.y_stride = kHeads * kHeadDim;
    op.positions = {&positions_, 0};
    op.cache = cache_;
    op.segments = segments();
    op.score.scale = 0.125f;
    op.round_f16 = true;
    op.scratch = {&scratch_, 0};
    return op;
  }
  // The tokens' keys and values come from the GPU, as in a decoder.
  std::vector<Placed> appended(int64_t S) {
    const Operand kv{&kv_, 0};
    const int64_t width = kKvHeads * kHeadDim;
    return {{kGpu,
             {"append", KvAppend{S,
                                 kv,
                                 kv.advanced(static_cast<size_t>(width) * 4),
                                 2 * width,
                                 2 * width,
                                 {&positions_, 0},
                                 cache_,
                                 segments()}}}};
  }
  Segments segments() { return {1, 0, {}, {&pages_, 0}}; }
  std::unique_ptr<PreparedPlan> prepare(std::span<const Placed> placed) {
    return executor_->prepare(schedule("parts", {"opencl:0", "npu:0", "host"}, {placed.begin(), placed.end()}));
  }
  std::vector<float> run(PreparedPlan& plan, int64_t S, int64_t past) {
    for (int64_t s = 0; s < S; ++s) positions_.as<int32_t>()[s] = static_cast<int32_t>(past + s);
    for (sync::Slot* slot : {&y_, &scratch_})  // the values that remain if a part does not run
      std::fill_n(slot->as<float>(), slot->size_bytes() / 4, std::numeric_limits<float>::quiet_NaN());
    executor_->run(plan);
    return {y_.as<float>(), y_.as<float>() + S * kHeads * kHeadDim};
  }

  sync::Pool pool_;
  sync::Slot& slot(size_t bytes, const char* label) { return pool_.acquire(bytes, sync::SlotUse::activations, label); }
  sync::Slot& q_ = slot(kMostTokens * kHeads * kHeadDim * 4, "q");
  sync::Slot& y_ = slot(kMostTokens * kHeads * kHeadDim * 4, "y");
  sync::Slot& kv_ = slot(kMostTokens * 2 * kKvHeads * kHeadDim * 4, "kv");
  sync::Slot& positions_ = slot(kMostTokens * 4, "positions");
  sync::Slot& scratch_ = slot(attention_scratch_bytes(kMostTokens, kHeads, kHeadDim, kCapacity), "scratch");
  KvCache cache_ = kv_cache(KvType::f16, kKvHeads, kHeadDim, kHeadDim, kCapacity);
  sync::Slot& pages_ = slot(static_cast<size_t>(cache_.pages) * 4, "pages");
  std::unique_ptr<Device> gpu_, npu_, host_;
  std::unique_ptr<Executor> executor_;
};

TEST_F(SharedAttention, parts_of_two_devices_give_the_bits_of_the_whole_at_every_depth) {
  for (const int64_t S : {int64_t{1}, kMostTokens}) {
    std::vector<Placed> placed = appended(S);
    placed.push_back({kHost, {"whole", attention(S)}});
    const auto whole = prepare(placed);
    for (const int64_t shares : {0, 1, 8, 16, 24, 31, 41, 48}) {
      placed = appended(S);
      const AttentionParts parts = attention_parts({"part", attention(S)}, shares);
      for (const Operator& op : parts.second) placed.push_back({kHost, op});
      for (const Operator& op : parts.first) placed.push_back({kGpu, op});
      for (const Operator& op : parts.closing) placed.push_back({kGpu, op});
      EXPECT_EQ(parts.second.empty(), shares == 0);
      EXPECT_EQ(parts.first.empty(), shares == 48);
      const auto cut = prepare(placed);
      for (const int64_t past : {0, 250, 1023, 2047, 2500}) {
        SCOPED_TRACE(std::to_string(shares) + " shares, " + std::to_string(S) + " tokens after " +
                     std::to_string(past));
        const std::vector<float> expected = run(*whole, S, past), actual = run(*cut, S, past);
        ASSERT_FALSE(std::ranges::any_of(expected, [](float value) { return value != value; }));
        ASSERT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)), 0);
      }
    }
  }
}

}  // namespace
}  // namespace tandem
