// Every plan on real devices, for lengths that fit the NPU's sizes and for others. Results equal those of the
// GPU alone.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/engine/device/every_device.h"
#include "tests/engine/run/golden.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/program_folder.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {
namespace {

const std::vector<int64_t> kLengths = {1, 7, 31, 32, 33, 135, 300, 525, 600};
const std::vector<int64_t> kFewLengths = {1, 33, 300};  // if every length takes seconds: lavapipe compiles and waits
constexpr int64_t kMostTokens = 600;

const std::vector<int64_t> kManySizes = EngineOptions().graph_tokens;
const std::vector<int64_t> kFewSizes = {128, 256, 512};  // most lengths fall back
const std::vector<int64_t> kAnySize = {};

class EveryPlan : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::ranges::count(available_devices(), GetParam()))
      SKIP_OR_FAIL(test::needs_of(GetParam()), "there is no " + GetParam());
    TinyModel model;
    model.type = StorageType::f16;
    model.hidden = 128;
    model.feed_forward = 384;
    model.context_length = 1024;
    write_file(path_, write_gguf(model));
  }

  std::unique_ptr<Engine> open(const std::string& plan, const std::vector<int64_t>& sizes = kManySizes) const {
    EngineOptions o;
    o.graph_tokens = sizes;
    o.program_folder = test::program_folder();
    o.model_path = path_;
    o.plan = plan;
    o.devices = {GetParam()};
    if (plan != "gpu-only") o.devices.push_back("npu:0");
    if (plan == "sequence") o.devices.push_back("host");
    if (plan == "rows") o.split = {0.5};
    o.act = ActType::f16;
    o.device_hooks.gpu_family = KernelFamily::simd;
    o.chunk = o.logit_rows = kMostTokens;
    o.measurements = path_ + ".measured.json";
    return Engine::open(o);
  }
  static std::vector<int32_t> prompt(int64_t tokens) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < tokens; ++i) ids.push_back(static_cast<int32_t>(3 + (i * i + 5 * i) % 300));
    return ids;
  }
  // The logits of every token of the prompt, and of two more tokens one by one.
  static std::vector<float> logits_of(Engine& engine, int64_t tokens) {
    Sequence text = engine.cache().new_sequence();
    std::vector<float> logits = all_logits(engine, text, prompt(tokens));
    for (const int32_t id : {17, 170}) {
      const Logits next = extend(engine, text, std::span(&id, 1));
      logits.insert(logits.end(), next.begin(), next.end());
    }
    return logits;
  }

  // The number of matmuls that the plan for a whole prompt puts on both devices.
  static int64_t matmuls_cut(Engine& engine, int64_t tokens) {
    std::map<std::string, std::set<int>> devices;
    for (const Step& step : engine.plans().planner().plan_for({tokens, tokens}, 0).steps) {
      for (const Operator& op : step.operators)
        if (std::holds_alternative<MatMul>(op.body)) devices[op.name].insert(step.device);
    }
    return std::ranges::count_if(devices, [](const auto& entry) { return entry.second.size() > 1; });
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.file("tiny.gguf");
};

// Runs each plan with each set of graph sizes for several lengths. The logits must have the GPU's bits, or stay within
// the bounds of rounding if the GPU does not fuse multiply-adds.
TEST_P(EveryPlan, gives_what_the_gpu_gives_for_every_length) {
  const auto gpu = open("gpu-only");
  const bool same_bits = gpu->machine().infos().front()->fused_fma;
  std::map<int64_t, std::vector<float>> expected;
  for (const int64_t tokens : same_bits ? kLengths : kFewLengths) expected[tokens] = logits_of(*gpu, tokens);
  const std::span<const float> first(expected[33]);
  const auto vocabulary = static_cast<size_t>(gpu->model().config().vocabulary);
  ASSERT_GT(largest_difference(first.first(vocabulary), first.subspan(vocabulary, vocabulary)), 0.5);

  const auto expect_same = [&](const std::string& plan, const std::vector<int64_t>& sizes,
                               const std::vector<int64_t>& lengths) {
    const auto engine = open(plan, sizes);
    int64_t cut = 0;
    for (const int64_t tokens : lengths) {
      SCOPED_TRACE(plan + ", " + std::to_string(tokens) + " tokens, " + std::to_string(sizes.size()) + " sizes");
      const std::vector<float> logits = logits_of(*engine, tokens);
      if (same_bits) {
        EXPECT_EQ(different_bits(logits, expected[tokens]), 0u);
      } else {
        // If fma is not fused (lavapipe), the GPU's sums have other bits than the NPU's. Then f16 may round values
        // between two halves differently. Each is off by its own roundings. A token or row at a wrong place would be
        // off by about one.
        const LogitBounds bounds = logit_bounds(engine->model().config(), {.activations = true}, expected[tokens]);
        EXPECT_LE(largest_difference(logits, expected[tokens]), 2 * bounds.largest);
        EXPECT_LE(rms_difference(logits, expected[tokens]), 2 * bounds.rms);
      }
      cut += matmuls_cut(*engine, tokens);
    }
    // Given shares stay fixed. Measured costs may put all work on one device. values_test.cpp uses made-up costs and
    // requires cuts of every plan.
    if (plan == "rows") {
      EXPECT_GT(cut, 0);
    }
  };
  for (const Strategy& strategy : strategies_for_any_model()) {
    const std::string plan = strategy.name;
    if (plan == "gpu-only" || plan == "host-only") continue;
    if (!same_bits && (plan == "staggered" || plan == "sequence")) continue;  // takes minutes on lavapipe
    expect_same(plan, kManySizes, same_bits ? kLengths : kFewLengths);
    if (!same_bits) continue;
    expect_same(plan, kFewSizes, kFewLengths);
    expect_same(plan, kAnySize, kFewLengths);
  }
}

// Four devices in one plan: two interfaces, the NPU, and the host on the NPU's thread. lavapipe does not fuse
// multiply-adds, so its rows are compared within the bounds of rounding.
TEST(FourDevices, share_the_matmuls_of_a_pass) {
  for (const char* id : {"opencl:0", "vulkan:0"})
    if (!std::ranges::count(available_devices(), id))
      SKIP_OR_FAIL(test::needs_of(id), std::string("there is no ") + id);
  const ScratchFolder folder;
  const std::string path = folder.file("tiny.gguf");
  TinyModel model;
  model.type = StorageType::f16;
  model.hidden = 128;
  model.feed_forward = 384;
  write_file(path, write_gguf(model));
  const std::vector<int32_t> ids = {5, 9, 30, 17, 200, 3, 41, 8, 77};
  ModelConfig config;
  const auto logits_on = [&](std::vector<std::string> devices, const std::string& plan, std::vector<double> split) {
    EngineOptions o;
    o.program_folder = test::program_folder();
    o.model_path = path;
    o.devices = std::move(devices);
    o.plan = plan;
    o.split = std::move(split);
    o.act = ActType::f16;
    o.device_hooks.gpu_family = KernelFamily::simd;
    o.plan_hooks.tries_plans = false;
    o.measurements = folder.file("measured.json");
    const auto engine = Engine::open(o);
    config = engine->model().config();
    std::set<int> ran;
    for (const Step& step : engine->plans().planner().plan_for({9, 1}, 0).steps) {
      for (const Operator& op : step.operators)
        if (std::holds_alternative<MatMul>(op.body)) ran.insert(step.device);
    }
    Sequence text = engine->cache().new_sequence();
    const Logits logits = extend(*engine, text, ids);
    return std::pair(std::vector<float>(logits.begin(), logits.end()), ran);
  };
  const auto [expected, alone] = logits_on({"host"}, "host-only", {});
  const std::vector<std::string> four = {"opencl:0", "vulkan:0", "npu:0", "host"};
  const auto [by_shares, sharing] = logits_on(four, "rows", {0.3, 0.4, 0.3});
  const auto [by_solver, solving] = logits_on(four, "tensor", {});
  EXPECT_EQ(sharing, (std::set<int>{0, 1, 2}));
  EXPECT_FALSE(solving.empty());
  for (const std::vector<float>& logits : {by_shares, by_solver}) {
    ASSERT_EQ(logits.size(), expected.size());
    const LogitBounds bounds = logit_bounds(config, {.activations = true}, expected);
    EXPECT_LE(largest_difference(logits, expected), 2 * bounds.largest);
    EXPECT_LE(rms_difference(logits, expected), 2 * bounds.rms);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, EveryPlan, ::testing::ValuesIn(test::first_ids({DeviceKind::gpu})),
                         [](const auto& info) { return info.param.substr(0, 6); });

}  // namespace
}  // namespace tandem::testing
