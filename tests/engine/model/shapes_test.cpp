#include "engine/model/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/error.h"

namespace tandem {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSmall =
    R"({"schema": 1, "layers": 2, "hidden": 64, "feed_forward": 128, "heads": 4, "vocabulary": 512})";

std::string failure(const std::string& json) {
  try {
    parse_shape(json, "small.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string with(const std::string& key_and_value) { return std::string(kSmall).replace(1, 0, key_and_value + ", "); }

// Block weights of one layer, in millions: q and o 4096 * 4096, k and v 1024 * 4096, gate, up and down 14336 * 4096:
// 2 * 16.777 + 2 * 4.194 + 3 * 58.720 = 218.104; 32 of them are 6979.3. The head has 128256 * 4096 = 525.3.
TEST(model_shapes, llama_3_8b_has_the_published_number_of_weights) {
  const Model model = shape_only_model(model_shape("llama-3-8b"), packed_format(StorageType::q4_0));
  double block = 0;
  for (const LayerWeights& layer : model.weights.layers) {
    for (const MatrixGroup* group : {&layer.qkv, &layer.attention_output, &layer.gate_up, &layer.down}) {
      block += static_cast<double>(group->rows) * static_cast<double>(group->columns);
    }
  }
  EXPECT_NEAR(block, 6979.3e6, 0.1e6);
  EXPECT_EQ(model.weights.output.rows * model.weights.output.columns, 525336576);
  EXPECT_FALSE(model.weights.layers[0].qkv.parts[0].matrix.data) << "a shape has no bytes";
}

TEST(model_shapes, every_published_shape_is_consistent) {
  for (const PublishedShape& shape : published_shapes()) {
    const ModelConfig config = model_shape(shape.name);
    EXPECT_EQ(config.heads % config.kv_heads, 0) << shape.name;
    const Model model = shape_only_model(config, packed_format(StorageType::q4_0), true);
    EXPECT_EQ(model.weights.layers.size(), static_cast<size_t>(config.layers)) << shape.name;
    EXPECT_EQ(model.weights.layers[0].qkv.rows, config.qkv_width()) << shape.name;
    EXPECT_GT(model.weights.bytes, 0u) << shape.name;
  }
}

TEST(model_shapes, separate_matrices_lie_side_by_side_in_the_output) {
  const Model model = shape_only_model(model_shape("llama-3-8b"), packed_format(StorageType::q4_0), true);
  const std::vector<MatrixPart>& parts = model.weights.layers[0].qkv.parts;
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1].column_begin, 4096);
  EXPECT_EQ(parts[2].column_begin, 5120);
  EXPECT_EQ(parts[2].matrix.rows, 1024);
  EXPECT_EQ(model.weights.layers[0].gate_up.parts.size(), 2u);
}

TEST(model_shapes, a_json_shape_gives_what_it_names_and_defaults_for_the_rest) {
  const ModelConfig config = parse_shape(with(R"("kv_heads": 2, "qk_norm": true)"), "small.json");
  EXPECT_EQ(config.layers, 2);
  EXPECT_EQ(config.kv_heads, 2);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_TRUE(config.qk_norm);
  EXPECT_FALSE(config.tied_output);
  EXPECT_EQ(config.name, "small.json");
}

TEST(model_shapes, a_bad_json_shape_is_refused_naming_file_and_key) {
  EXPECT_EQ(failure(kSmall), "");
  EXPECT_THAT(failure("[]"), HasSubstr("small.json"));
  EXPECT_THAT(failure("{"), HasSubstr("small.json"));
  EXPECT_THAT(failure(R"({"schema": 2})"), HasSubstr("small.json: schema"));
  EXPECT_THAT(failure(with(R"("depth": 3)")), HasSubstr("small.json: depth"));
  EXPECT_THAT(failure(with(R"("kv_heads": 3)")), HasSubstr("a divisor of heads"));
  EXPECT_THAT(failure(with(R"("head_dim": "wide")")), HasSubstr("small.json: head_dim"));
  EXPECT_THAT(failure(with(R"("context_length": 0)")), HasSubstr("small.json: context_length"));
  EXPECT_THAT(failure(with(R"("rope_base": -1)")), HasSubstr("small.json: rope_base"));
  EXPECT_THAT(failure(with(R"("tied_output": 1)")), HasSubstr("true or false"));
  EXPECT_THAT(failure(with(R"("context_length": 18446744073709551615)")), HasSubstr("context_length"));
}

TEST(model_shapes, an_unknown_name_lists_the_known_ones) {
  try {
    model_shape("gpt-9");
    FAIL() << "found it";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("llama-3-8b, llama-2-7b"));
  }
}

}  // namespace
}  // namespace tandem
