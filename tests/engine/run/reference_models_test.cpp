// Architectures without golden files from elsewhere. Made-up models run on every kind of plan. The reference is a
// forward pass in double precision, written from the model's description (tests/engine/run/reference_forward.h).
#include <functional>

#include "engine/model/random_model.h"
#include "engine/model/shapes.h"
#include "tests/engine/run/golden.h"
#include "tests/engine/run/reference_forward.h"

namespace tandem::testing {
namespace {

constexpr int64_t kReferenceTokens = 45;

struct Made {
  const char* name;
  const char* shape;
  std::function<void(ModelConfig&)> change;
};

// Seven layers cut off the last period of Gemma's windows. The windows begin to exclude positions in the middle of the
// text, one of them within the first tile of queries.
const Made kMade[] = {
    {"gemma2",
     R"({"schema": 1, "architecture": "gemma2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "head_dim": 24, "vocabulary": 300, "context_length": 256, "sliding_window": 7,
         "tied_output": true})",
     [](ModelConfig& config) {
       config.attention_cap = 1.5f;
       config.logit_cap = 2;
     }},
    {"gemma3",
     R"({"schema": 1, "architecture": "gemma3", "layers": 7, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "head_dim": 24, "vocabulary": 300, "context_length": 256, "rope_base": 1000000,
         "sliding_window": 5, "tied_output": true})",
     [](ModelConfig& config) {
       config.rope.scaling = RopeScaling::linear;
       config.rope.scale_factor = 8;
     }},
    {"granite",
     R"({"schema": 1, "architecture": "granite", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
     [](ModelConfig& config) {
       config.embedding_scale = 12;
       config.residual_scale = 0.22f;
       config.given_attention_scale = 0.1f;
       config.logit_scale = 1 / 3.0f;
     }},
    {"phi3",
     R"({"schema": 1, "architecture": "phi3", "layers": 3, "hidden": 96, "feed_forward": 160, "heads": 3,
         "kv_heads": 3, "vocabulary": 300, "context_length": 256, "sliding_window": 20})",
     [](ModelConfig&) {}},
};

// The path of the model's file, which is made once.
std::string file_of(const Made& made) {
  static const ScratchFolder folder;
  const std::string path = folder.file(std::string(made.name) + "-F32.gguf");
  if (std::ifstream(path)) return path;
  ModelConfig config = parse_shape(made.shape, made.name);
  made.change(config);
  std::ofstream out(path, std::ios::binary);
  RandomModel(config, StorageType::f32, 7).write([&](std::span<const std::byte> bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  });
  return path;
}

class ReferenceModels : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override { need_devices(GetParam()); }
};

TEST_P(ReferenceModels, have_the_logits_of_their_descriptions) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < kReferenceTokens; ++i) ids.push_back(static_cast<int32_t>(3 + i * 37 % 290));
  for (const Made& made : kMade) {
    SCOPED_TRACE(std::string(made.name) + " " + GetParam().name());
    const std::string path = file_of(made);
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

}  // namespace
}  // namespace tandem::testing
