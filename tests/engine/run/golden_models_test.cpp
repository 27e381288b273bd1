// Every architecture and every storage type, on every plan, against golden logits and greedy runs.

#include "tests/engine/run/golden.h"
#include "tests/engine/run/kept_logits.h"
#include "tests/engine/run/near_ties.h"

namespace tandem::testing {
namespace {

constexpr const char* kDense[] = {"llama", "llama3-rope", "internlm2", "qwen2", "qwen3"};
constexpr const char* kMixtures[] = {"mixtral", "qwen2moe", "qwen3moe", "olmoe", "phimoe", "deepseek", "deepseek2"};
class GoldenModels : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { need_devices(GetParam()); }
  // Every device alone runs each architecture. A way that cuts, rounds or copies runs a third of them.
  static bool has_turn(int architecture) {
    const Way& way = GetParam();
    const int turn = static_cast<int>(way.split.size() + way.devices.size()) + way.copies + (way.family == "simt");
    return is_plain(way) || (turn + architecture) % 3 == 0;
  }
  static bool is_plain(const Way& way) {
    const bool is_alone = !way.uses_npu() || way.plan == "npu-only";
    return is_alone && !way.copies && (way.kv == KvType::f32 || way.plan == "host-only");
  }
  // Plain ways write the whole golden text, except with kernels that a CPU does not use. Others write its beginning.
  static size_t golden_tokens(size_t all) {
    return is_plain(GetParam()) && GetParam().family != "simt" ? all : std::min(all, size_t{24});
  }
  // The host keeps the contract on every machine.
  static void expect_kept(const Engine& engine, const std::string& model, const std::string& prompt,
                          std::span<const float> logits) {
    const bool compared = expect_kept_logits(engine, model, prompt, GetParam().kv, logits);
    EXPECT_TRUE(compared || GetParam().plan != "host-only");
  }
  // Compares each prompt's greedy continuation, and the logits of the prompt with the continuation.
  static void expect_golden_architecture(const std::string& name) {
    const Way& way = GetParam();
    const auto golden = read_json(repository_data("arch-models/golden.json"));
    const auto model = larger_data("arch-models/" + name + "-F32.gguf");
    if (!model) return;  // tests/data has some of them
    const auto engine = open_engine(*model, way);
    for (const char* prompt_name : {"short", "text"}) {
      SCOPED_TRACE(name + " " + prompt_name + " " + way.name());
      const auto& entry = golden.at("models").at(name).at(prompt_name);
      auto ids = entry.at("prompt").get<std::vector<int32_t>>();
      const auto expected_greedy = entry.at("greedy").get<std::vector<int32_t>>();
      EXPECT_EQ(greedy(*engine, ids, expected_greedy.size()), expected_greedy);
      ids.insert(ids.end(), expected_greedy.begin(), expected_greedy.end());
      const auto expected = read_floats(*test_data("arch-models/" + name + "-F32." + prompt_name + ".logits.f32"));
      const auto logits = all_logits(*engine, ids);
      // The choices of experts in these models are no near-ties. But those that a sparse mixer compares may be. If
      // anything is rounded, the test compares logits before the first near-tie.
      const auto& experts = engine->model().config().experts;
      const bool may_turn =
          experts && experts->gating == Gating::sparse_mixer && promised(rounded_by(way)) > promised({});
      const int64_t all = static_cast<int64_t>(ids.size()), V = engine->model().config().vocabulary;
      const int64_t clear = may_turn ? first_near_tie(*engine, ids) : all;
      EXPECT_GT(clear, 0);
      expect_golden_logits(engine->model().config(), way, rows(logits, 0, clear, V), rows(expected, 0, clear, V));
      expect_kept(*engine, *model, prompt_name, logits);
    }
  }
};

TEST_P(GoldenModels, dense_architectures_have_golden_logits_and_greedy_runs) {
  for (int i = 0; i < static_cast<int>(std::size(kDense)); ++i)
    if (has_turn(i)) expect_golden_architecture(kDense[i]);
}

// The cache's type only changes attention. With f16 the test runs one mixture for each kind of attention.
TEST_P(GoldenModels, mixtures_of_experts_have_golden_logits_and_greedy_runs) {
  const bool rounds_cache = GetParam().kv == KvType::f16 && GetParam().plan != "host-only";
  for (int i = 0; i < static_cast<int>(std::size(kMixtures)); ++i) {
    const std::string name = kMixtures[i];
    if (rounds_cache ? name == "qwen3moe" || name == "deepseek2" : has_turn(i)) expect_golden_architecture(name);
  }
}

// Three models hold all fifteen storage types. `positions` are those of the golden logits. The test runs the first
// 129 tokens.
TEST_P(GoldenModels, mixed_storage_types_have_golden_logits) {
  const auto golden = read_json(repository_data("mixed-models/golden.json"));
  auto ids = golden.at("prompt").get<std::vector<int32_t>>();
  const auto positions = golden.at("positions").get<std::vector<int64_t>>();
  ids.resize(129);
  for (const auto& [name, types] : golden.at("models").items()) {
    SCOPED_TRACE(name + " " + GetParam().name());
    const auto engine = open_engine(repository_data("mixed-models/" + name + ".gguf"), GetParam());
    const auto expected = read_floats(repository_data("mixed-models/" + name + ".logits.f32"));
    const auto logits = all_logits(*engine, ids);
    expect_kept(*engine, name + ".gguf", "129 of golden", logits);
    const int64_t V = engine->model().config().vocabulary;
    for (size_t i = 0; i < positions.size() && positions[i] < 129; ++i) {
      SCOPED_TRACE("position " + std::to_string(positions[i]));
      expect_golden_logits(engine->model().config(), GetParam(), rows(logits, positions[i], 1, V),
                           rows(expected, static_cast<int64_t>(i), 1, V));
    }
  }
}

TEST_P(GoldenModels, tiny_trained_models_write_their_golden_text) {
  for (const auto& entry : read_json(repository_data("tiny-models/golden/golden.json"))) {
    const std::string file = entry.at("gguf");
    SCOPED_TRACE(file + " '" + entry.at("prompt").get<std::string>() + "' " + GetParam().name());
    const auto model = larger_data("tiny-models/" + file);
    if (!model) continue;  // tests/data has one of them
    const auto engine = open_engine(*model, GetParam());
    const auto ids = entry.at("prompt_ids").get<std::vector<int32_t>>();
    EXPECT_EQ(engine->model().tokenizer().encode(entry.at("prompt").get<std::string>(), {}), ids);
    const auto expected = read_floats(*test_data("tiny-models/golden/" + entry.at("logits_file").get<std::string>()));
    const auto logits = all_logits(*engine, ids);
    expect_golden_logits(engine->model().config(), GetParam(), logits, expected);
    expect_kept(*engine, *model, std::to_string(ids.size()) + " of golden", logits);
    if (GetParam().uses_npu()) continue;  // the file has no margins, and rounded operands may turn a near-tie
    auto expected_greedy = entry.at("greedy_ids").get<std::vector<int32_t>>();
    expected_greedy.resize(golden_tokens(expected_greedy.size()));
    EXPECT_EQ(greedy(*engine, ids, expected_greedy.size()), expected_greedy);
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, GoldenModels,
                         ::testing::Values(Way{"host-only", {}}, Way{"host-only", {}, "", ActType::f16, KvType::f16},
                                           Way{"gpu-only", {}, "simd"}, Way{"gpu-only", {}, "simt"},
                                           Way{"gpu-only", {}, "simd", {}, KvType::f16},
                                           Way{"gpu-only", {}, "simd", {}, KvType::f32, true},
                                           Way{"gpu-only", {}, "simt", {}, KvType::f32, true}, Way{"npu-only", {}},
                                           Way{"layer", {}, "", {}, KvType::f32, false, "blocking"},
                                           Way{"tensor", {0.5}}, Way{"tensor", {0.5}, "simt"},
                                           Way{"tensor", {}, "", {}, KvType::f32, false, "blocking"}),
                         test_name);

const std::vector<std::string> kVulkan{"vulkan:0"}, kVulkanAndNpu{"vulkan:0", "npu:0"},
    kThree{"vulkan:0", "opencl:0", "npu:0"};
INSTANTIATE_TEST_SUITE_P(
    Vulkan, GoldenModels,
    ::testing::Values(Way{"gpu-only", {}, "simd", {}, KvType::f32, false, "predict", kVulkan},
                      Way{"gpu-only", {}, "simt", {}, KvType::f32, false, "blocking", kVulkan},
                      Way{"gpu-only", {}, "simd", {}, KvType::f16, true, "predict", kVulkan},
                      Way{"gpu-only", {}, "simt", {}, KvType::f16, true, "predict", kVulkan},
                      Way{"layer", {}, "simd", {}, KvType::f32, false, "predict", kVulkanAndNpu},
                      Way{"tensor", {0.5}, "simd", {}, KvType::f16, false, "predict", kVulkanAndNpu},
                      Way{"tensor", {0.3, 0.3, 0.4}, "simd", {}, KvType::f32, false, "predict", kThree}),
    test_name);

// All matrices have one storage type, so matrices with the same input are merged. The test runs on a device of
// each kind.
class GoldenTypes : public GoldenModels {};

TEST_P(GoldenTypes, have_golden_logits) {
  const auto golden_path = test_data("quant-models/golden.json");
  if (!golden_path) SKIP_FOR_WANT_OF(data, "no quant-models");
  const auto golden = read_json(*golden_path);
  const auto ids = golden.at("prompt").get<std::vector<int32_t>>();
  for (const auto& [type, entry] : golden.at("types").items()) {
    SCOPED_TRACE(type + " " + GetParam().name());
    const auto engine = open_engine(*test_data("quant-models/quant-" + type + ".gguf"), GetParam());
    const auto expected = read_floats(*test_data("quant-models/quant-" + type + ".logits.f32"));
    const auto logits = all_logits(*engine, ids);
    expect_golden_logits(engine->model().config(), GetParam(), logits, expected);
    expect_kept(*engine, "quant-" + type + ".gguf", "golden", logits);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, GoldenTypes,
                         ::testing::Values(Way{"host-only", {}}, Way{"gpu-only", {}, "simd"},
                                           Way{"gpu-only", {}, "simt"}, Way{"tensor", {0.5}, "simd"},
                                           Way{"gpu-only", {}, "simd", {}, KvType::f32, false, "predict", kVulkan}),
                         test_name);

}  // namespace
}  // namespace tandem::testing
