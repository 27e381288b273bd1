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

// The block weights of one layer, in millions. q and o have 4096 * 4096, k and v 1024 * 4096, gate, up and down 14336 *
// 4096: 2 * 16.777 + 2 * 4.194 + 3 * 58.720 = 218.104. 32 layers have 6979.3. The head has 128256 * 4096 = 525.3.
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
    EXPECT_EQ(config.rope.dim % 2, 0) << shape.name;
    const Model model = shape_only_model(config, packed_format(StorageType::q4_0), true);
    EXPECT_EQ(model.weights.layers.size(), static_cast<size_t>(config.layers)) << shape.name;
    EXPECT_EQ(model.weights.layers[0].qkv.rows, config.projected_width()) << shape.name;
    EXPECT_GT(model.weights.bytes, 0u) << shape.name;
  }
}

// In billions, according to the models' own pages. For the Phi models the source is the size of their 16-bit files.
TEST(model_shapes, have_the_published_number_of_weights) {
  const std::pair<const char*, double> published[] = {
      {"afm-4.5b", 4.62},
      {"aya-23-8b", 8.03},
      {"command-r7b", 8.03},
      {"falcon3-1b", 1.67},
      {"nemotron-mini-4b", 4.19},
      {"phi-2", 2.78},
      {"phi-4-mini", 3.84},
      {"starcoder2-3b", 3.03},
      {"ministral-3-8b", 8.49},
      {"mixtral-8x7b", 46.7},
      {"phi-3.5-moe", 41.87},
      {"phi-tiny-moe", 3.75},
      {"qwen1.5-moe-a2.7b", 14.3},
      {"qwen2-57b-a14b", 57.4},
      {"qwen3-30b-a3b", 30.5},
      {"olmoe-1b-7b", 6.92},
      {"deepseek-moe-16b", 16.4},
      {"deepseek-v2-lite", 15.7},
      {"deepseek-v2", 235.7},
      {"deepseek-v3", 671.0},
      {"glm-4.5-air", 106.9},
      {"jina-embeddings-v2-base", 0.137},
      {"command-r-plus", 103.8},
      {"stablelm-2-12b", 12.14},
      {"mixtral-8x22b", 140.6},
      {"qwen3-235b-a22b", 235.1},
      {"granite-3.0-3b-a800m", 3.30},
      {"ling-lite", 16.8},
      {"hunyuan-a13b", 80.4},
  };
  for (const auto& [name, billions] : published) {
    double sum = 0;
    const Overloaded add{
        [&](const MatrixGroup& group) { sum += static_cast<double>(group.rows) * static_cast<double>(group.columns); },
        [&](const MatrixStack& stack) {
          sum += static_cast<double>(stack.count * stack.rows) * static_cast<double>(stack.columns);
        },
        [](const Operand&) {}};
    const Model model = shape_only_model(model_shape(name), packed_format(StorageType::f16));
    for (const LayerWeights& layer : model.weights.layers) each_part(add, layer);
    if (!model.config.tied_output) add(model.weights.output);
    sum += static_cast<double>(model.weights.embedding.rows * model.weights.embedding.columns);
    EXPECT_NEAR(sum / 1e9, billions, 0.01 * billions) << name;
    EXPECT_NEAR(static_cast<double>(model.weights.bytes), 2 * sum, 0.01 * sum) << name << ": panels and 16 bits";
  }
}

TEST(model_shapes, stacks_are_one_matrix_or_matrices_side_by_side) {
  const ModelConfig config = model_shape("qwen3-30b-a3b");
  const auto stack = [&](bool separate) {
    return shape_only_model(config, packed_format(StorageType::q4_0), separate).weights.layers[5].expert_gate_up;
  };
  ASSERT_EQ(stack(false).parts.size(), 1u);
  EXPECT_EQ(stack(false).parts[0].stack.rows, 1536);
  EXPECT_EQ(stack(false).parts[0].stack.count, 128);
  EXPECT_FALSE(stack(false).parts[0].stack.data) << "a shape has no bytes";
  ASSERT_EQ(stack(true).parts.size(), 2u);
  EXPECT_EQ(stack(true).parts[1].column_begin, 768);
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
  EXPECT_EQ(config.rope.dim, 16);
  EXPECT_EQ(parse_shape(with(R"("rotated": 6)"), "small.json").rope.dim, 6);
  EXPECT_THAT(failure(with(R"("rotated": 7)")), HasSubstr("small.json: rotated. expected an even number"));
  EXPECT_THAT(failure(with(R"("rotated": 18)")), HasSubstr("small.json: rotated"));
  EXPECT_FALSE(config.tied_output);
  EXPECT_EQ(config.name, "small.json");
}

constexpr const char* kExperts = R"("architecture": "deepseek2", "experts": 8, "experts_used": 2,
    "kv_lora_rank": 32, "nope_dim": 16, "rope_dim": 8, "value_dim": 24)";

TEST(model_shapes, a_json_shape_may_have_experts_and_latent_attention) {
  const ModelConfig plain = parse_shape(with(kExperts), "small.json");
  EXPECT_EQ(plain.experts, (ExpertsConfig{.count = 8, .used = 2, .feed_forward = 128}));
  EXPECT_EQ(plain.latent, (LatentConfig{.rank = 32, .nope = 16, .rope = 8, .value = 24}));
  EXPECT_EQ(plain.kv_heads, 1);
  EXPECT_EQ(plain.head_dim, 40);
  EXPECT_EQ(plain.head_dim_v, 32);
  EXPECT_EQ(plain.rope.dim, 8);
  const ModelConfig config = parse_shape(with(std::string(kExperts) + R"(, "expert_feed_forward": 32,
      "shared_feed_forward": 48, "dense_layers": 1, "expert_scale": 2.5)"),
                                         "small.json");
  EXPECT_EQ(config.experts->feed_forward, 32);
  EXPECT_EQ(config.experts->shared_feed_forward, 48);
  EXPECT_EQ(config.experts->dense_layers, 1);
  EXPECT_EQ(config.experts->scale, 2.5f);
  EXPECT_TRUE(config.has_experts(1));
  EXPECT_FALSE(config.has_experts(0));
  const ModelConfig large = parse_shape(with(std::string(kExperts) + R"(, "q_lora_rank": 40, "expert_groups": 4,
      "expert_groups_used": 2, "expert_sigmoid": true, "expert_bias": true, "expert_norm": true)"),
                                        "small.json");
  EXPECT_EQ(large.latent->query_rank, 40);
  EXPECT_EQ(large.experts->groups, 4);
  EXPECT_EQ(large.experts->groups_used, 2);
  EXPECT_EQ(large.experts->gating, Gating::sigmoid);
  EXPECT_TRUE(large.experts->choice_bias);
  EXPECT_TRUE(large.experts->normalised);
}

TEST(model_shapes, a_json_shape_of_experts_must_fit_its_architecture) {
  const auto json = [](const std::string& keys) { return failure(with(keys)); };
  EXPECT_THAT(json(R"("architecture": "qwen3moe")"), HasSubstr("small.json: experts. expected experts"));
  EXPECT_THAT(json(R"("architecture": "qwen2", "experts": 4, "experts_used": 2)"),
              HasSubstr("small.json: experts. expected no experts"));
  EXPECT_THAT(json(R"("architecture": "deepseek2", "experts": 4, "experts_used": 2)"),
              HasSubstr("small.json: kv_lora_rank. expected latent attention"));
  const std::string qwen = R"("architecture": "qwen3moe", "experts": 8, "experts_used": 2, )";
  EXPECT_THAT(json(qwen + R"("expert_groups": 2)"), HasSubstr("small.json: expert_groups. expected no groups"));
  EXPECT_THAT(json(qwen + R"("expert_bias": true)"), HasSubstr("small.json: expert_bias. expected no bias"));
  EXPECT_THAT(json(qwen + R"("expert_step": 2)"), HasSubstr("small.json: expert_step. expected no layers without"));
  EXPECT_THAT(json(std::string(kExperts) + R"(, "expert_groups": 3)"), HasSubstr("expert_groups. expected groups"));
  EXPECT_THAT(json(R"("kv_lora_rank": 4, "nope_dim": 4, "rope_dim": 4, "value_dim": 4)"),
              HasSubstr("small.json: kv_lora_rank. expected no latent attention"));
  EXPECT_THAT(json(R"("experts": 4)"), HasSubstr("small.json: experts_used"));
  EXPECT_THAT(json(R"("experts": 4, "experts_used": 5)"), HasSubstr("from 1 to 4"));
  EXPECT_THAT(json(R"("experts": 0, "experts_used": 5)"), HasSubstr("small.json: experts"));
  EXPECT_THAT(json(R"("experts": 5000, "experts_used": 5)"), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(json(R"("experts_used": 5)"), HasSubstr("no such key"));
  EXPECT_THAT(json(R"("experts": 4, "experts_used": 2, "dense_layers": 3)"), HasSubstr("small.json: dense_layers"));
  EXPECT_THAT(json(R"("architecture": "deepseek2", "experts": 4, "experts_used": 2, "kv_lora_rank": 32,
                       "nope_dim": 16, "rope_dim": 7, "value_dim": 8)"),
              HasSubstr("small.json: rope_dim"));
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
