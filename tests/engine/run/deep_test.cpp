// Engines with a long prompt and single tokens behind it: pieces without logits, new plans as the context grows
// (Planner::planned_past), and sampling with a seed. The results are the same on every plan.
#include "engine/run/serve/generate.h"
#include "tests/engine/run/golden.h"

namespace tandem::testing {
namespace {

constexpr const char* kModel = "mixed-models/first.gguf";
// The ends of extensions lie at golden logits. The pieces between have few lengths, because each length is measured.
// One end lies within a piece, one at a piece's end, and one behind 1,024, where the past is rounded differently.
constexpr int64_t kEnds[] = {33, 512, 1025, 1200};

struct Outcome {
  ModelConfig config;
  std::vector<float> logits;  // at each end, then for single tokens
  std::vector<int32_t> sampled;
};

Outcome run_on(const Way& way, std::span<const int32_t> ids) {
  EngineOptions options = options_for(repository_data(kModel), way);
  options.chunk = 256, options.logit_rows = 1, options.context = 1280;
  const auto engine = Engine::open(options);
  Outcome run;
  run.config = engine->model().config();
  const auto take = [&](std::span<const float> logits) {
    run.logits.insert(run.logits.end(), logits.begin(), logits.end());
  };
  Sequence text = engine->cache().new_sequence();
  int64_t begin = 0;
  for (const int64_t end : kEnds) {
    take(extend(*engine, text, ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))));
    begin = end;
  }
  for (const int32_t id : {17, 170, 71}) take(extend(*engine, text, std::span(&id, 1)));
  // Rewinds to a place where plans were made for another past.
  text.rewind(500);
  take(extend(*engine, text, ids.subspan(500, 33)));
  text.rewind(0);
  GenerateOptions sampling;
  sampling.predict = 24;
  sampling.ignore_end = true;
  sampling.sampler.temperature = 1.5f;
  sampling.sampler.seed = 17;
  run.sampled = generate(*engine, ids.first(33), sampling).ids;
  return run;
}

class Deep : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto golden = read_json(repository_data("mixed-models/golden.json"));
    ids_ = golden.at("prompt").get<std::vector<int32_t>>();
    positions_ = golden.at("positions").get<std::vector<int64_t>>();
    golden_ = read_floats(repository_data("mixed-models/first.logits.f32"));
  }
  void expect_golden(const Outcome& run, const Way& way) const {
    constexpr int64_t V = 512;
    for (size_t i = 0; i < std::size(kEnds); ++i) {
      const auto at = std::ranges::find(positions_, kEnds[i] - 1) - positions_.begin();
      ASSERT_LT(at, std::ssize(positions_));
      SCOPED_TRACE("after " + std::to_string(kEnds[i]) + " tokens");
      expect_golden_logits(run.config, way, rows(run.logits, static_cast<int64_t>(i), 1, V), rows(golden_, at, 1, V));
    }
  }
  std::vector<int32_t> ids_;
  std::vector<int64_t> positions_;
  std::vector<float> golden_;
};

TEST_F(Deep, prompts_have_golden_logits_on_the_host_and_the_gpu_with_unrounded_activations) {
  const Way host{"host-only", {}, "", ActType::f32}, gpu{"gpu-only", {}, "simd", ActType::f32};
  const Outcome expected = run_on(host, ids_);
  expect_golden(expected, host);
  if (std::ranges::count(available_devices(), "opencl:0") == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  const Outcome run = run_on(gpu, ids_);
  EXPECT_EQ(different_bits(run.logits, expected.logits), 0u);
  EXPECT_EQ(run.sampled, expected.sampled);
}

TEST_F(Deep, prompts_and_seeded_samples_are_the_same_on_every_plan) {
  const Way host{"host-only", {}, "", ActType::f16, KvType::f16};
  const Outcome expected = run_on(host, ids_);
  expect_golden(expected, host);
  if (std::ranges::count(available_devices(), "opencl:0") == 0) SKIP_FOR_WANT_OF(opencl, "no OpenCL device");
  for (const Way& way : {Way{"tensor", {}}, Way{"tensor", {0.6}}, Way{"staggered", {}}, Way{"sequence", {}}}) {
    Way full = way;
    full.family = "simd", full.act = ActType::f16, full.kv = KvType::f16;
    SCOPED_TRACE(full.name());
    const Outcome run = run_on(full, ids_);
    EXPECT_EQ(different_bits(run.logits, expected.logits), 0u);
    EXPECT_EQ(run.sampled, expected.sampled);
  }
}

}  // namespace
}  // namespace tandem::testing
