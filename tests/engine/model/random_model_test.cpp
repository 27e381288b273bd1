// Models with random weights: they are read back with the requested shape, and their values are as large as those of
// trained models.
#include "engine/model/random_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/model/architecture.h"
#include "engine/model/gguf.h"
#include "engine/model/loading.h"
#include "engine/model/shapes.h"
#include "sync/error.h"
#include "tests/support/small_shape.h"

namespace tandem {
namespace {

using test::bytes_of, test::small_shape;

TEST(RandomModel, has_the_shape_that_was_asked_for_whatever_the_architecture) {
  for (const PublishedShape& shape : published_shapes()) {
    SCOPED_TRACE(shape.name);
    const ModelConfig asked = small_shape(shape.name);
    const std::vector<std::byte> bytes = bytes_of(RandomModel(asked, StorageType::q8_0, 1));
    ModelConfig read = read_config(GgufFile::parse(bytes, shape.name));
    EXPECT_EQ(read.name, asked.name + ", random weights");
    read.name = asked.name;
    EXPECT_EQ(read.layers, 2);
    EXPECT_EQ(read.head_dim, asked.head_dim);
    EXPECT_EQ(read.rope, asked.rope);
    EXPECT_EQ(read.experts, asked.experts);
    EXPECT_EQ(read.latent, asked.latent);
    EXPECT_EQ(read, asked) << "in anything else";
  }
}

TEST(RandomModel, of_experts_loads) {
  for (const char* name : {"olmoe-1b-7b", "qwen1.5-moe-a2.7b", "phi-3.5-moe", "deepseek-v2-lite"}) {
    SCOPED_TRACE(name);
    const ModelConfig asked = small_shape(name);
    const std::vector<std::byte> bytes = bytes_of(RandomModel(asked, StorageType::q4_0, 1));
    const GgufFile file = GgufFile::parse(bytes, name);
    EXPECT_THAT(file.require("blk.1.ffn_gate_exps.weight").shape,
                ::testing::ElementsAre(256, 64, asked.experts->count));
    EXPECT_EQ(file.require("blk.1.ffn_gate_inp.weight").type, StorageType::f32);
    EXPECT_EQ(file.require("blk.1.ffn_gate_exps.weight").type, StorageType::q4_0);
    sync::Pool pool;
    const Model model = load_model(file, pool, 2);
    EXPECT_EQ(model.weights.layers[1].expert_down.count, asked.experts->count);
    EXPECT_EQ(model.weights.layers[1].expert_down.rows, 256);
  }
}

TEST(RandomModel, keeps_experts_and_latents_in_every_layout) {
  ModelConfig asked = small_shape("deepseek-v2-lite");
  asked.latent->apart = true;
  asked.experts->scale = 2.5f;
  asked.experts->normalised = true;
  asked.experts->gating = Gating::sigmoid;
  const std::vector<std::byte> bytes = bytes_of(RandomModel(asked, StorageType::q8_0, 1));
  ModelConfig read = read_config(GgufFile::parse(bytes, "apart"));
  read.name = asked.name;
  EXPECT_EQ(read, asked);
  sync::Pool pool;
  EXPECT_EQ(load_model(GgufFile::parse(bytes, "apart"), pool, 2).weights.layers[0].key_up.columns, 128);

  ModelConfig factors = small_shape("phi-3.5-moe");
  factors.rope.scaling = RopeScaling::frequency_factors;
  factors.rope.original_context = 4096;
  factors.rope.attention_factor = 1.19f;
  factors.rope.frequency_factors.assign(64, 1.5f);
  factors.rope.long_factors.assign(64, 8.0f);
  const std::vector<std::byte> others = bytes_of(RandomModel(factors, StorageType::f16, 1));
  ModelConfig read_factors = read_config(GgufFile::parse(others, "factors"));
  read_factors.name = factors.name;
  EXPECT_EQ(read_factors, factors);
  load_model(GgufFile::parse(others, "factors"), pool, 2);
}

TEST(RandomModel, keeps_the_scaling_of_the_rotation) {
  ModelConfig yarn = small_shape("qwen2.5-7b");
  yarn.rope.scaling = RopeScaling::yarn;
  yarn.rope.scale_factor = 4;
  yarn.rope.original_context = 8192;
  yarn.rope.attention_factor = 1.25f;
  yarn.rope.yarn_beta_fast = 16;
  yarn.rope.yarn_beta_slow = 2;
  const std::vector<std::byte> bytes = bytes_of(RandomModel(yarn, StorageType::f16, 1));
  const ModelConfig read = read_config(GgufFile::parse(bytes, "yarn"));
  EXPECT_EQ(read.rope.scaling, RopeScaling::yarn);
  EXPECT_EQ(read.rope.scale_factor, 4);
  EXPECT_EQ(read.rope.original_context, 8192);
  EXPECT_EQ(read.rope.attention_factor, 1.25f);
  EXPECT_EQ(read.rope.yarn_beta_fast, 16);
  EXPECT_EQ(read.rope.yarn_beta_slow, 2);
  yarn.rope.yarn_magnitude = false;  // the factor is the whole magnitude
  const std::vector<std::byte> whole = bytes_of(RandomModel(yarn, StorageType::f16, 1));
  EXPECT_EQ(read_config(GgufFile::parse(whole, "whole")).rope, yarn.rope);

  ModelConfig factors = small_shape("llama-3.2-1b");
  factors.rope.scaling = RopeScaling::frequency_factors;
  for (int64_t i = 0; i < factors.rope.dim / 2; ++i)
    factors.rope.frequency_factors.push_back(1 + static_cast<float>(i));
  const std::vector<std::byte> others = bytes_of(RandomModel(factors, StorageType::f16, 1));
  EXPECT_EQ(read_config(GgufFile::parse(others, "factors")).rope.frequency_factors, factors.rope.frequency_factors);
}

// Every type, in matrices of 256 columns. The mean is 0 within the asymmetry of the codes (Q4_0 has 8 below zero and 7
// above). The deviation is 1 / sqrt(256).
TEST(RandomModel, has_values_of_one_size_in_every_type) {
  for (const StorageTypeInfo& type : storage_types()) {
    SCOPED_TRACE(type.name);
    const std::vector<std::byte> bytes = bytes_of(RandomModel(small_shape("llama-3-8b"), type.type, 1));
    const GgufFile file = GgufFile::parse(bytes, type.name);
    const GgufTensor& tensor = file.require("blk.1.ffn_gate.weight");
    EXPECT_EQ(tensor.type, type.type);
    std::vector<float> values(256 * 512);
    decode_row(tensor.type, tensor.data, values.data(), static_cast<int64_t>(values.size()));
    double sum = 0, squares = 0;
    for (const float value : values) sum += value, squares += static_cast<double>(value) * value;
    const double count = static_cast<double>(values.size()), deviation = std::sqrt(squares / count);
    // A scale of MXFP4 is the nearest power of two, so the deviation is off by at most the root of 2.
    if (type.type == StorageType::mxfp4)
      EXPECT_LT(std::fabs(std::log2(deviation * 16)), 0.55);
    else if (type.type == StorageType::nvfp4)  // its scales have four bits
      EXPECT_NEAR(deviation, 1.0 / 16, 0.1 / 16);
    else
      EXPECT_NEAR(deviation, 1.0 / 16, 0.05 / 16);
    EXPECT_NEAR(sum / count, 0, 0.15 * deviation);
  }
}

// 66 = 2 x 33 columns are whole blocks of no type. 288 = 9 x 32 columns are whole blocks of Q8_0, but not of types with
// blocks of 256.
TEST(RandomModel, stores_what_is_no_whole_blocks_in_another_type_and_says_so) {
  ModelConfig config = small_shape("tinyllama-1.1b");
  config.hidden = 288;
  config.feed_forward = 66;
  const RandomModel model(config, StorageType::q4_k, 1);
  const std::vector<std::byte> bytes = bytes_of(model);
  const GgufFile file = GgufFile::parse(bytes, "mixed");
  EXPECT_EQ(file.require("token_embd.weight").type, StorageType::q8_0);
  EXPECT_EQ(file.require("blk.0.ffn_down.weight").type, StorageType::f16);
  EXPECT_EQ(file.require("blk.0.attn_output.weight").type, StorageType::q4_k) << "32 heads of 64";
  EXPECT_THAT(model.replaced(), ::testing::IsSupersetOf({"token_embd.weight: Q8_0", "blk.1.ffn_down.weight: F16"}));
  EXPECT_THAT(model.replaced(), ::testing::Not(::testing::Contains("blk.0.attn_output.weight: Q4_K")));
}

TEST(RandomModel, is_the_same_for_the_same_seed_and_says_how_long_it_is) {
  const ModelConfig config = small_shape("qwen3-0.6b");
  const RandomModel model(config, StorageType::q6_k, 7);
  const std::vector<std::byte> first = bytes_of(model);
  EXPECT_EQ(first.size(), model.file_bytes());
  EXPECT_EQ(bytes_of(model), first);
  EXPECT_NE(bytes_of(RandomModel(config, StorageType::q6_k, 8)), first);
  int64_t parameters = 0;
  const GgufFile file = GgufFile::parse(first, "file");
  for (const GgufTensor& tensor : file.tensors()) {
    int64_t count = 1;
    for (const int64_t extent : tensor.shape) count *= extent;
    parameters += count;
  }
  EXPECT_EQ(model.parameters(), parameters);
}

TEST(RandomModel, has_a_tokenizer_for_any_text) {
  const std::vector<std::byte> bytes = bytes_of(RandomModel(small_shape("llama-3-8b"), StorageType::q4_0, 1));
  const GgufFile file = GgufFile::parse(bytes, "file");
  const auto vocabulary = file.get_strings("tokenizer.ggml.tokens");
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->size(), 400u);
  EXPECT_EQ(std::set<std::string_view>(vocabulary->begin(), vocabulary->end()).size(), 400u)
      << "no word is there twice";
}

TEST(RandomModel, of_an_unknown_architecture_is_an_error) {
  ModelConfig config = small_shape("llama-3-8b");
  config.architecture = "mamba";
  EXPECT_THROW(RandomModel(config, StorageType::q4_0, 1), Error);
}

}  // namespace
}  // namespace tandem
