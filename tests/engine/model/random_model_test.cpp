// Models with made-up weights: what is read back from them is the shape that was asked for, and their values are of the
// size that a trained model's are.
#include "engine/model/random_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/model/architecture.h"
#include "engine/model/gguf.h"
#include "engine/model/shapes.h"
#include "sync/error.h"

namespace tandem {
namespace {

std::vector<std::byte> bytes_of(const RandomModel& model) {
  std::vector<std::byte> bytes;
  model.write([&](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); });
  return bytes;
}

// A published shape with few layers and words, so that tests take milliseconds.
ModelConfig small(const std::string& name) {
  ModelConfig config = model_shape(name);
  config.layers = 2;
  config.hidden = 256;
  config.feed_forward = 512;
  config.vocabulary = 400;
  return config;
}

TEST(RandomModel, has_the_shape_that_was_asked_for_whatever_the_architecture) {
  for (const PublishedShape& shape : published_shapes()) {
    SCOPED_TRACE(shape.name);
    const ModelConfig asked = small(shape.name);
    const std::vector<std::byte> bytes = bytes_of(RandomModel(asked, StorageType::q8_0, 1));
    const ModelConfig read = read_config(GgufFile::parse(bytes, shape.name));
    EXPECT_EQ(read.architecture, asked.architecture);
    EXPECT_EQ(read.layers, 2);
    EXPECT_EQ(read.hidden, 256);
    EXPECT_EQ(read.feed_forward, 512);
    EXPECT_EQ(read.heads, asked.heads);
    EXPECT_EQ(read.kv_heads, asked.kv_heads);
    EXPECT_EQ(read.head_dim, asked.head_dim);
    EXPECT_EQ(read.head_dim_v, asked.head_dim_v);
    EXPECT_EQ(read.vocabulary, 400);
    EXPECT_EQ(read.context_length, asked.context_length);
    EXPECT_EQ(read.rope.base, asked.rope.base);
    EXPECT_EQ(read.rope.dim, asked.rope.dim);
    EXPECT_EQ(read.rope.halves, asked.rope.halves);
    EXPECT_EQ(read.tied_output, asked.tied_output);
    EXPECT_EQ(read.qkv_bias, asked.qkv_bias);
    EXPECT_EQ(read.qk_norm, asked.qk_norm);
  }
}

TEST(RandomModel, keeps_the_scaling_of_the_rotation) {
  ModelConfig yarn = small("qwen2.5-7b");
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

  ModelConfig factors = small("llama-3.2-1b");
  factors.rope.scaling = RopeScaling::frequency_factors;
  for (int64_t i = 0; i < factors.rope.dim / 2; ++i)
    factors.rope.frequency_factors.push_back(1 + static_cast<float>(i));
  const std::vector<std::byte> others = bytes_of(RandomModel(factors, StorageType::f16, 1));
  EXPECT_EQ(read_config(GgufFile::parse(others, "factors")).rope.frequency_factors, factors.rope.frequency_factors);
}

// Every type, in matrices of 256 columns: mean 0 within the codes' own asymmetry (Q4_0 has 8 below zero and 7 above),
// deviation 1 / sqrt(256).
TEST(RandomModel, has_values_of_one_size_in_every_type) {
  for (const StorageTypeInfo& type : storage_types()) {
    SCOPED_TRACE(type.name);
    const std::vector<std::byte> bytes = bytes_of(RandomModel(small("llama-3-8b"), type.type, 1));
    const GgufFile file = GgufFile::parse(bytes, type.name);
    const GgufTensor& tensor = file.require("blk.1.ffn_gate.weight");
    EXPECT_EQ(tensor.type, type.type);
    std::vector<float> values(256 * 512);
    decode_row(tensor.type, tensor.data, values.data(), static_cast<int64_t>(values.size()));
    double sum = 0, squares = 0;
    for (const float value : values) sum += value, squares += static_cast<double>(value) * value;
    const double count = static_cast<double>(values.size()), deviation = std::sqrt(squares / count);
    EXPECT_NEAR(deviation, 1.0 / 16, 0.05 / 16);
    EXPECT_NEAR(sum / count, 0, 0.15 * deviation);
  }
}

// 66 = 2 x 33 columns are no whole blocks of anything; 288 = 9 x 32 are of Q8_0 and not of 256.
TEST(RandomModel, stores_what_is_no_whole_blocks_in_another_type_and_says_so) {
  ModelConfig config = small("tinyllama-1.1b");
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
  const ModelConfig config = small("qwen3-0.6b");
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
  const std::vector<std::byte> bytes = bytes_of(RandomModel(small("llama-3-8b"), StorageType::q4_0, 1));
  const GgufFile file = GgufFile::parse(bytes, "file");
  const auto vocabulary = file.get_strings("tokenizer.ggml.tokens");
  ASSERT_TRUE(vocabulary);
  EXPECT_EQ(vocabulary->size(), 400u);
  EXPECT_EQ(std::set<std::string_view>(vocabulary->begin(), vocabulary->end()).size(), 400u)
      << "no word is there twice";
}

TEST(RandomModel, of_an_unknown_architecture_is_an_error) {
  ModelConfig config = small("llama-3-8b");
  config.architecture = "mamba";
  EXPECT_THROW(RandomModel(config, StorageType::q4_0, 1), Error);
}

}  // namespace
}  // namespace tandem
