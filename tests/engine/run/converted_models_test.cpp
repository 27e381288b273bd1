// Dense models converted to mixtures of experts must compute the same: split ones with all experts active and equal
// weights, and cloned ones with any router.
#include <algorithm>
#include <random>

#include "engine/model/moe_conversion.h"
#include "engine/model/random_model.h"
#include "engine/model/shapes.h"
#include "tests/engine/run/golden.h"
#include "tests/support/gguf_writer.h"

namespace tandem::testing {
namespace {

constexpr int kTokens = 20;  // enough for lists of tokens (engine/graph/decoder.cpp), in two passes

class ConvertedModels : public ::testing::Test {
 protected:
  std::string dense(const std::string& architecture, StorageType type) const {
    const ModelConfig config = parse_shape(R"({"schema": 1, "architecture": ")" + architecture + R"(", "layers": 2,
        "hidden": 256, "feed_forward": 1024, "heads": 4, "kv_heads": 2, "vocabulary": 300, "context_length": 64})",
                                           "dense");
    return write("dense.gguf", RandomModel(config, type, 3));
  }

  template <typename Written>
  std::string write(const std::string& name, const Written& model) const {
    std::vector<std::byte> bytes;
    model.write([&](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); });
    write_file(folder_.file(name), bytes);
    return folder_.file(name);
  }

  // Random scores of both signs send tokens to all experts.
  static void set_random_routers(MoeConversion& conversion, int64_t E) {
    std::mt19937_64 random(9);
    for (int64_t layer = 0; layer < conversion.dense().layers; ++layer) {
      std::vector<float> rows(static_cast<size_t>(E * conversion.dense().hidden));
      for (float& value : rows) value = 0.2f * (static_cast<float>(random() >> 40) / 8388608.0f - 1.0f);
      conversion.set_router(layer, std::move(rows));
    }
  }

  static std::vector<float> logits_of(const std::string& path) {
    const auto engine = open_engine(path, Way{"host-only", {}}, kTokens / 2);
    std::vector<int32_t> ids;
    for (int i = 0; i < kTokens; ++i) ids.push_back(3 + i * 37 % 290);
    return all_logits(*engine, ids);
  }

  void expect_equal(const std::string& dense_path, const std::string& mixture_path) const {
    const std::vector<float> mixture = logits_of(mixture_path), expected = logits_of(dense_path);
    const LogitBounds bounds = logit_bounds(read_config(GgufFile::open(dense_path)), {}, expected);
    EXPECT_LE(largest_difference(mixture, expected), bounds.largest);
    EXPECT_LE(rms_difference(mixture, expected), bounds.rms);
    EXPECT_GT(std::ranges::max(expected) - std::ranges::min(expected), 0.5f) << "logits that say something";
  }

  const ScratchFolder folder_;
};

constexpr StorageType kTypes[] = {StorageType::f32,  StorageType::f16,  StorageType::bf16, StorageType::q4_0,
                                  StorageType::q5_1, StorageType::q8_0, StorageType::q4_k, StorageType::q6_k};

TEST_F(ConvertedModels, split_and_all_active_are_the_dense_model) {
  for (const char* architecture : {"llama", "qwen3"}) {
    for (const StorageType type : kTypes) {
      SCOPED_TRACE(std::string(architecture) + " " + info(type).name);
      const std::string path = dense(architecture, type);
      const GgufFile file = GgufFile::open(path);
      expect_equal(path, write("split.gguf", MoeConversion(file, {4, 4, ExpertKind::split})));
    }
  }
}

TEST_F(ConvertedModels, cloned_are_the_dense_model_whatever_their_routers_say) {
  for (const char* architecture : {"llama", "qwen3"}) {
    for (const StorageType type : {StorageType::f32, StorageType::q4_0, StorageType::q4_k}) {
      SCOPED_TRACE(std::string(architecture) + " " + info(type).name);
      const std::string path = dense(architecture, type);
      const GgufFile file = GgufFile::open(path);
      MoeConversion conversion(file, {5, 3, ExpertKind::cloned});
      set_random_routers(conversion, 5);
      expect_equal(path, write("cloned.gguf", conversion));
    }
  }
}

// With four of eight experts active the model writes another text, because half of the network is missing.
TEST_F(ConvertedModels, split_and_half_active_are_another_model) {
  const std::string path = dense("llama", StorageType::f16);
  const GgufFile file = GgufFile::open(path);
  const auto half = logits_of(write("half.gguf", MoeConversion(file, {8, 4, ExpertKind::split})));
  EXPECT_GT(largest_difference(half, logits_of(path)), 0.1);
}

}  // namespace
}  // namespace tandem::testing
