// Architectures without golden files from elsewhere. Made-up models run on every kind of plan. The reference is a
// forward pass in double precision, written from the model's description (tests/engine/run/reference_forward.h).
#include "tests/engine/run/golden.h"
#include "tests/engine/run/joined_file.h"
#include "tests/engine/run/made_models.h"
#include "tests/engine/run/reference_forward.h"

namespace tandem::testing {
namespace {

constexpr int64_t kReferenceTokens = 45;

std::vector<int32_t> reference_ids() {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < kReferenceTokens; ++i) ids.push_back(static_cast<int32_t>(3 + i * 37 % 290));
  return ids;
}

const MadeModel& made_model(std::string_view name) {
  for (const MadeModel& made : made_models())
    if (made.name == name) return made;
  throw Error("no such model", std::string(name));
}

class ReferenceModels : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { need_devices(GetParam()); }
  // The host and one GPU run every architecture. The other ways run a third of them, also those with another type of
  // the cache, which changes attention only.
  static bool has_turn(size_t architecture) {
    const Way& way = GetParam();
    const bool runs_all = way.plan == "host-only" || (way.plan == "gpu-only" && way.devices.empty() &&
                                                      way.family == "simd" && way.kv == KvType::f32);
    return runs_all || (way.name().size() + architecture) % 3 == 0;
  }
};

TEST_P(ReferenceModels, have_the_logits_of_their_descriptions) {
  const std::vector<int32_t> ids = reference_ids();
  for (size_t i = 0; i < made_models().size(); ++i) {
    const MadeModel& made = made_models()[i];
    if (!has_turn(i)) continue;
    SCOPED_TRACE(std::string(made.name) + " " + GetParam().name());
    const std::string path = made.file();
    const std::vector<float> expected = reference_logits(GgufFile::open(path), ids);
    // This test does not cover rounding F32 weights to f16.
    const auto engine = open_engine(path, GetParam());
    const std::vector<float> logits = all_logits(*engine, ids);
    ASSERT_EQ(logits.size(), expected.size());
    const float largest = std::ranges::max(expected), least = std::ranges::min(expected);
    EXPECT_GT(largest - least, 0.5f) << "logits that say something";
    EXPECT_LE(largest_difference(logits, expected), promised(rounded_by(GetParam())));
    // Token by token gives the same logits as one pass, also where windows begin. Passes of other lengths have other
    // cuts. If the devices' sums differ there, f16 may round a value the other way.
    const double allowed = engine->contract().bits_depend_on_passes ? promised(rounded_by(GetParam())) : 1e-4;
    Sequence text = engine->cache().new_sequence();
    const int64_t V = engine->model().config().vocabulary;
    for (int64_t i = 0; i < kReferenceTokens; ++i) {
      const Logits one = extend(*engine, text, std::span(&ids[static_cast<size_t>(i)], 1));
      ASSERT_LE(largest_difference(one, std::span(logits).subspan(static_cast<size_t>(i * V), static_cast<size_t>(V))),
                allowed)
          << "token " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Plans, ReferenceModels,
    ::testing::Values(Way{"host-only", {}}, Way{"gpu-only", {}, "simd"}, Way{"gpu-only", {}, "simt"},
                      Way{"gpu-only", {}, "simd", {}, KvType::f16}, Way{"npu-only", {}}, Way{"layer", {}},
                      Way{"tensor", {0.5}}, Way{"staggered", {}},
                      Way{"gpu-only", {}, "simd", {}, KvType::f32, false, "predict", {"vulkan:0"}},
                      Way{"tensor", {0.5}, "simt", {}, KvType::f32, false, "blocking", {"vulkan:0", "npu:0"}}),
    test_name);

// The pass has as many tokens as the engine has room for, so a buffer that is too small for a layer ends it.
TEST(ReferenceBuffers, hold_a_pass_of_as_many_tokens_as_an_engine_takes) {
  const std::vector<int32_t> ids = reference_ids();
  const Way host{"host-only", {}};
  for (const MadeModel& made : made_models()) {
    SCOPED_TRACE(made.name);
    const auto engine = open_engine(made.file(), host, kReferenceTokens);
    EXPECT_LE(largest_difference(all_logits(*engine, ids), reference_logits(GgufFile::open(made.file()), ids)),
              promised(rounded_by(host)));
  }
}

// Converters write such files if they are asked to. A layer without experts is among them.
TEST(ReferenceFiles, may_have_gates_and_ups_of_experts_in_one_tensor) {
  const std::vector<int32_t> ids = reference_ids();
  const ScratchFolder folder;
  const Way host{"host-only", {}};
  for (const char* name : {"qwen3vlmoe", "glm4moe", "llama4"}) {
    SCOPED_TRACE(name);
    const std::string path = made_model(name).file(StorageType::q8_0),
                      joined = folder.file(std::string(name) + ".gguf");
    write_joined(path, "ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_gate_up_exps.weight", joined);
    const std::vector<float> expected = all_logits(*open_engine(path, host), ids);
    EXPECT_EQ(different_bits(all_logits(*open_engine(joined, host), ids), expected), 0u);
  }
}

// The biases of such a file are one tensor too.
TEST(ReferenceFiles, may_have_biases_of_gates_and_ups_in_one_tensor) {
  const std::vector<int32_t> ids = reference_ids();
  const ScratchFolder folder;
  const Way host{"host-only", {}};
  const std::string path = made_model("gpt-oss").file(StorageType::q8_0), weights = folder.file("weights.gguf"),
                    joined = folder.file("joined.gguf");
  write_joined(path, "ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_gate_up_exps.weight", weights);
  write_joined(weights, "ffn_gate_exps.bias", "ffn_up_exps.bias", "ffn_gate_up_exps.bias", joined);
  const std::vector<float> expected = all_logits(*open_engine(path, host), ids);
  for (const std::string& file : {weights, joined})
    EXPECT_EQ(different_bits(all_logits(*open_engine(file, host), ids), expected), 0u) << file;
}

// Texts of other lengths are beginnings of the same text, so the reference knows their logits.
class ReferenceTexts : public ReferenceModels {};

TEST_P(ReferenceTexts, have_them_where_eight_share_a_pass) {
  constexpr int64_t kTexts = 8;
  const std::vector<int32_t> ids = reference_ids();
  for (const char* name :
       {"arcee", "nemotron", "starcoder2", "phi2", "command-r", "cohere2", "mistral3", "phi4-mini"}) {
    SCOPED_TRACE(name);
    const std::string path = made_model(name).file();
    const std::vector<float> expected = reference_logits(GgufFile::open(path), ids);
    EngineOptions options = options_for(path, GetParam());
    options.chunk = 256;
    options.logit_rows = options.sequences = kTexts;
    const auto engine = shared_machines().open(options, machine_key(GetParam()));
    std::vector<Sequence> texts;
    for (int64_t i = 0; i < kTexts; ++i) texts.push_back(engine->cache().new_sequence());
    std::vector<Extension> extensions;
    for (int64_t i = 0; i < kTexts; ++i)
      extensions.push_back({&texts[static_cast<size_t>(i)], std::span(ids).first(static_cast<size_t>(3 + 6 * i)), 1});
    const Logits found = engine->extend(extensions);
    const int64_t V = engine->model().config().vocabulary;
    for (int64_t i = 0; i < kTexts; ++i) {
      const auto row = [&](const auto& logits, int64_t at) {
        return std::span<const float>(logits.data(), logits.size())
            .subspan(static_cast<size_t>(at * V), static_cast<size_t>(V));
      };
      EXPECT_LE(largest_difference(row(found, i), row(expected, 2 + 6 * i)), promised(rounded_by(GetParam()))) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, ReferenceTexts, ::testing::Values(Way{"host-only", {}}, Way{"gpu-only", {}, "simd"}),
                         test_name);

// Networks without a gate, parallel blocks, windows and temperatures are among them.
class ReferenceBits : public ReferenceModels {};

TEST_P(ReferenceBits, are_those_of_the_host) {
  SKIP_WHERE_SUMS_DIFFER(ActType::f16);
  const std::vector<int32_t> ids = reference_ids();
  for (const char* name : {"nemotron", "phi2", "cohere2", "mistral3"}) {
    SCOPED_TRACE(name);
    const std::string path = made_model(name).file(StorageType::q8_0);
    const auto host = open_engine(path, Way{"host-only", {}, "", ActType::f16});
    const std::vector<float> expected = all_logits(*host, ids);
    const auto engine = open_engine(path, GetParam());
    EXPECT_EQ(different_bits(all_logits(*engine, ids), expected), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, ReferenceBits,
                         ::testing::Values(Way{"gpu-only", {}, "simd", ActType::f16}, Way{"npu-only", {}},
                                           Way{"layer", {}}, Way{"tensor", {0.5}}, Way{"staggered", {}}),
                         test_name);

}  // namespace
}  // namespace tandem::testing
