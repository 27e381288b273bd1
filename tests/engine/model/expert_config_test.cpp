// Mixtures of experts: the keys of their files, and the tensors of their layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/model/architecture.h"
#include "engine/model/loading.h"
#include "engine/model/random_model.h"
#include "engine/model/rope.h"
#include "engine/model/shapes.h"
#include "engine/model/weights.h"
#include "sync/error.h"
#include "tests/engine/model/expert_files.h"
#include "tests/engine/model/refused_files.h"
#include "tests/support/data.h"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace tandem::testing;

std::optional<ModelConfig> test_model(const std::string& name) {
  const auto path = larger_data("arch-models/" + name + "-F32.gguf");
  if (!path) return std::nullopt;
  return read_config(GgufFile::open(*path));
}

struct Expected {
  const char* file;
  const char* architecture;
  int64_t feed_forward, shared, dense_layers;
  bool shared_gate, normalised, halves;
  Gating gating;
  bool qkv_bias, qk_norm, whole, layer_norm;
};

TEST(ExpertConfig, of_every_test_model_is_as_published) {
  constexpr Expected kExpected[] = {
      {"mixtral", "llama", 128, 0, 0, false, true, false, Gating::softmax, false, false, false, false},
      {"qwen2moe", "qwen2moe", 32, 64, 0, true, false, true, Gating::softmax, true, false, false, false},
      {"qwen3moe", "qwen3moe", 32, 0, 0, false, true, true, Gating::softmax, false, true, false, false},
      {"olmoe", "olmoe", 128, 0, 0, false, false, true, Gating::softmax, false, true, true, false},
      {"phimoe", "phimoe", 128, 0, 0, false, false, true, Gating::sparse_mixer, true, false, false, true},
      {"deepseek", "deepseek", 32, 64, 1, false, false, false, Gating::softmax, false, false, false, false},
      {"deepseek2", "deepseek2", 32, 64, 1, false, false, false, Gating::softmax, false, false, false, false},
  };
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(expected.file);
    const auto config = test_model(expected.file);
    if (!config) continue;
    EXPECT_EQ(config->architecture, expected.architecture);
    ASSERT_TRUE(config->experts);
    const ExpertsConfig& experts = *config->experts;
    EXPECT_EQ(experts.count, 8);
    EXPECT_EQ(experts.used, 2);
    EXPECT_EQ(experts.feed_forward, expected.feed_forward);
    EXPECT_EQ(experts.shared_feed_forward, expected.shared);
    EXPECT_EQ(experts.shared_gate, expected.shared_gate);
    EXPECT_EQ(experts.dense_layers, expected.dense_layers);
    EXPECT_EQ(experts.normalised, expected.normalised);
    EXPECT_EQ(experts.gating, expected.gating);
    EXPECT_EQ(experts.scale, 1.0f);
    EXPECT_EQ(config->rope.halves, expected.halves);
    EXPECT_EQ(config->qkv_bias, expected.qkv_bias);
    EXPECT_EQ(config->output_bias, expected.layer_norm);
    EXPECT_EQ(config->logits_bias, expected.layer_norm);
    EXPECT_EQ(config->qk_norm, expected.qk_norm);
    EXPECT_EQ(config->qk_norm_whole, expected.whole);
    EXPECT_EQ(config->layer_norm, expected.layer_norm);
    EXPECT_EQ(config->norm_eps, 1e-5f);
  }
}

TEST(ExpertConfig, of_latent_attention_keeps_one_head_of_latents) {
  for (const char* name : {"deepseek2", "deepseek2-mla"}) {
    SCOPED_TRACE(name);
    const auto config = test_model(name);
    if (!config) continue;
    ASSERT_TRUE(config->latent);
    EXPECT_EQ(*config->latent, (LatentConfig{32, 32, 16, 32, std::string(name) == "deepseek2-mla"}));
    EXPECT_EQ(config->heads, 4);
    EXPECT_EQ(config->kv_heads, 1);
    EXPECT_EQ(config->head_dim, 48);
    EXPECT_EQ(config->head_dim_v, 32);
    EXPECT_EQ(config->rope.dim, 16);
    EXPECT_EQ(config->query_width(), 192);
    EXPECT_EQ(config->projected_width(), 240);
    EXPECT_EQ(config->attended_width(), 128);
    EXPECT_FLOAT_EQ(config->attention_scale(), 1 / std::sqrt(48.0f));
  }
}

// V2-Lite has a factor of 40 and mscale_all_dim 0.707, so m = 0.1 * 0.707 * ln(40) + 1 = 1.26080. Heads have 192
// values, and their scores are scaled by m^2 / sqrt(192) = 0.114721.
TEST(ExpertConfig, of_latent_attention_has_yarns_magnitude_on_the_scores) {
  ModelConfig shape = model_shape("deepseek-v2-lite");
  shape.layers = 1;
  shape.hidden = 64;
  shape.feed_forward = 64;
  shape.vocabulary = 300;
  shape.experts = ExpertsConfig{.count = 2, .used = 1, .feed_forward = 32, .shared_feed_forward = 32};
  shape.rope.scaling = RopeScaling::yarn;
  shape.rope.scale_factor = 40;
  shape.rope.original_context = 4096;
  shape.rope.yarn_log_multiplier = 0.0707f;
  std::vector<std::byte> bytes;
  RandomModel(shape, StorageType::f16, 1).write([&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  });
  const ModelConfig read = read_config(GgufFile::parse(bytes, "lite.gguf"));
  EXPECT_NEAR(read.attention_scale(), 0.114721, 1e-5);
  EXPECT_EQ(rope_magnitude(read.rope), 1.0);
  EXPECT_EQ(read.rope.scaling, RopeScaling::yarn);
}

std::vector<std::string> names(const GroupSpec& group) {
  std::vector<std::string> all;
  for (const MatrixSpec& weight : group.weights) all.push_back(weight.name);
  for (const VectorSpec& bias : group.biases) all.push_back(bias.name);
  return all;
}

LayerSpec spec_of_layer(const ModelConfig& config, int64_t index) {
  return architecture_named(config.architecture, "test").layer(config, index);
}

TEST(ExpertSpecs, have_the_shared_experts_gate_below_the_router) {
  const ModelConfig config = model_shape("qwen1.5-moe-a2.7b");
  const LayerSpec layer = spec_of_layer(config, 3);
  EXPECT_THAT(names(layer.router), ElementsAre("blk.3.ffn_gate_inp.weight", "blk.3.ffn_gate_inp_shexp.weight"));
  EXPECT_EQ(layer.router.weights[0].rows, 60);
  EXPECT_EQ(layer.router.weights[1].rows, 1);
  EXPECT_THAT(names(layer.gate_up), ElementsAre("blk.3.ffn_gate_shexp.weight", "blk.3.ffn_up_shexp.weight"));
  EXPECT_EQ(layer.gate_up.weights[0].rows, 5632);
  EXPECT_EQ(layer.expert_gate_up.count, 60);
  EXPECT_EQ(layer.expert_gate_up.weights.at(0).rows, 1408);
  EXPECT_EQ(layer.expert_down.weights.at(0).columns, 1408);
}

TEST(ExpertSpecs, have_no_feed_forward_network_beside_experts_that_share_none) {
  for (const char* name : {"mixtral-8x7b", "qwen3-30b-a3b", "olmoe-1b-7b", "phi-3.5-moe"}) {
    const LayerSpec layer = spec_of_layer(model_shape(name), 0);
    EXPECT_THAT(names(layer.gate_up), IsEmpty()) << name;
    EXPECT_THAT(names(layer.down), IsEmpty()) << name;
    EXPECT_THAT(names(layer.router), ElementsAre("blk.0.ffn_gate_inp.weight")) << name;
  }
}

TEST(ExpertSpecs, begin_with_the_dense_layers) {
  const ModelConfig config = model_shape("deepseek-moe-16b");
  const LayerSpec dense = spec_of_layer(config, 0), sparse = spec_of_layer(config, 1);
  EXPECT_THAT(names(dense.gate_up), ElementsAre("blk.0.ffn_gate.weight", "blk.0.ffn_up.weight"));
  EXPECT_EQ(dense.gate_up.weights[0].rows, 10944);
  EXPECT_THAT(names(dense.router), IsEmpty());
  EXPECT_THAT(dense.expert_down.weights, IsEmpty());
  EXPECT_THAT(names(sparse.router), ElementsAre("blk.1.ffn_gate_inp.weight"));
  EXPECT_EQ(sparse.gate_up.weights[0].rows, 2816);
}

TEST(ExpertSpecs, of_norms_over_all_heads_have_their_width) {
  ModelConfig config = model_shape("olmoe-1b-7b");
  config.kv_heads = 4;
  const LayerSpec layer = spec_of_layer(config, 0);
  EXPECT_EQ(layer.q_norm.length, 2048);
  EXPECT_EQ(layer.k_norm.length, 512);
  EXPECT_EQ(spec_of_layer(model_shape("qwen3-30b-a3b"), 0).q_norm.length, 128);
}

TEST(ExpertSpecs, of_phimoe_have_every_bias) {
  const ModelConfig config = model_shape("phi-3.5-moe");
  const LayerSpec layer = spec_of_layer(config, 1);
  EXPECT_EQ(layer.attention_norm_bias.name, "blk.1.attn_norm.bias");
  EXPECT_EQ(layer.ffn_norm_bias.name, "blk.1.ffn_norm.bias");
  EXPECT_EQ(layer.qkv.biases.size(), 3u);
  EXPECT_EQ(layer.attention_output.biases.size(), 1u);
  const ModelSpec spec = model_spec(architecture_named("phimoe", "test"), config);
  EXPECT_EQ(spec.output_norm_bias.name, "output_norm.bias");
  EXPECT_THAT(names(spec.output), ElementsAre("output.weight", "output.bias"));
}

TEST(ExpertSpecs, of_latent_attention_project_queries_and_what_the_cache_keeps) {
  ModelConfig config = model_shape("deepseek-v2-lite");
  const LayerSpec layer = spec_of_layer(config, 0);
  EXPECT_THAT(names(layer.qkv), ElementsAre("blk.0.attn_q.weight", "blk.0.attn_kv_a_mqa.weight"));
  EXPECT_EQ(layer.qkv.weights[0].rows, 16 * 192);
  EXPECT_EQ(layer.qkv.weights[1].rows, 576);
  EXPECT_EQ(layer.latent_norm.length, 512);
  EXPECT_EQ(layer.attention_output.weights[0].columns, 2048);
  EXPECT_EQ(layer.key_up.count, 16);
  EXPECT_EQ(layer.key_up.weights.at(0).name, "blk.0.attn_kv_b.weight");
  config.latent->apart = true;
  EXPECT_EQ(spec_of_layer(config, 0).key_up.weights.at(0).name, "blk.0.attn_k_b.weight");
  EXPECT_EQ(spec_of_layer(config, 0).value_up.weights.at(0).name, "blk.0.attn_v_b.weight");
}

TEST(ExpertConfig, reads_what_files_say_of_the_weights) {
  GgufWriter writer = expert_writer({.architecture = "deepseek"}, {});
  writer.set("deepseek.expert_weights_scale", 2.5f).set("deepseek.expert_weights_norm", true);
  writer.set("deepseek.expert_gating_func", uint32_t{2}).set("deepseek.leading_dense_block_count", uint32_t{1});
  writer.set("deepseek.expert_shared_count", uint32_t{3}).set("deepseek.expert_group_count", uint32_t{1});
  const ExpertsConfig experts = config_of(writer).experts.value();
  EXPECT_EQ(experts.scale, 2.5f);
  EXPECT_TRUE(experts.normalised);
  EXPECT_EQ(experts.gating, Gating::sigmoid);
  EXPECT_EQ(experts.dense_layers, 1);
  EXPECT_EQ(experts.shared_feed_forward, 3 * 70);
  writer.set("deepseek.expert_shared_feed_forward_length", uint32_t{50}).set("deepseek.expert_weights_scale", 0.0f);
  writer.remove("deepseek.expert_feed_forward_length").remove("deepseek.expert_weights_norm");
  const ExpertsConfig others = config_of(writer).experts.value();
  EXPECT_EQ(others.shared_feed_forward, 50);
  EXPECT_EQ(others.scale, 1.0f);
  EXPECT_FALSE(others.normalised);
  EXPECT_EQ(others.feed_forward, 96) << "that of the dense layers";
}

TEST(ExpertConfig, of_no_experts_is_a_dense_model) {
  GgufWriter writer = tiny_writer({});
  writer.set("llama.expert_count", uint32_t{0}).set("llama.expert_used_count", uint32_t{0});
  EXPECT_FALSE(config_of(writer).experts);
}

TEST(ExpertConfig, refuses_what_it_would_have_to_guess) {
  expect_refused(
      {{"more used than there are", [](auto& w) { w.set("qwen2moe.expert_used_count", uint32_t{7}); },
        "found 7, expected at most the 6 experts"},
       {"none used", [](auto& w) { w.set("qwen2moe.expert_used_count", uint32_t{0}); }, "found 0, expected 1 to 64"},
       {"unknown how many are used", [](auto& w) { w.remove("qwen2moe.expert_used_count"); }, "expert_used_count"},
       {"no experts", [](auto& w) { w.set("qwen2moe.expert_count", uint32_t{0}); }, "'qwen2moe.expert_count'"},
       {"no word of experts", [](auto& w) { w.remove("qwen2moe.expert_count"); }, "'qwen2moe.expert_count'"},
       {"too many experts", [](auto& w) { w.set("qwen2moe.expert_count", uint32_t{4097}); }, "expected 1 to 4096"},
       {"too many used",
        [](auto& w) {
          w.set("qwen2moe.expert_count", uint32_t{100});
          w.set("qwen2moe.expert_used_count", uint32_t{65});
        },
        "expected 1 to 64"},
       {"groups", [](auto& w) { w.set("qwen2moe.expert_group_count", uint32_t{4}); }, "'qwen2moe.expert_group_count'"},
       {"an unknown function", [](auto& w) { w.set("qwen2moe.expert_gating_func", uint32_t{3}); },
        "'qwen2moe.expert_gating_func'"},
       {"more dense layers than layers", [](auto& w) { w.set("qwen2moe.leading_dense_block_count", uint32_t{3}); },
        "found 3, expected 1 to 2"},
       {"shared experts of any width",
        [](auto& w) {
          w.set("qwen2moe.expert_feed_forward_length", uint32_t{1} << 20);
          w.set("qwen2moe.expert_shared_count", uint32_t{4096});
        },
        "'qwen2moe.expert_shared_count'"},
       {"a negative scale", [](auto& w) { w.set("qwen2moe.expert_weights_scale", -1.0f); }, "expected 0 to 1e6"},
       {"latent attention", [](auto& w) { w.set("qwen2moe.attention.kv_lora_rank", uint32_t{8}); }, "kv_lora_rank"}},
      [] { return expert_writer({.architecture = "qwen2moe", .qkv_bias = true}, {}); });
}

// Published files of these say that weights add up to 1, or nothing. Others of the same architecture may
// say that they do not.
TEST(ExpertConfig, takes_what_a_file_of_qwen3_or_glm_says_of_the_sum_of_weights) {
  for (const std::string architecture : {"qwen3moe", "qwen3vlmoe", "glm4moe"}) {
    SCOPED_TRACE(architecture);
    GgufWriter writer = expert_writer({.architecture = architecture}, {});
    EXPECT_TRUE(config_of(writer).experts->normalised);
    writer.set(architecture + ".expert_weights_norm", true);
    EXPECT_TRUE(config_of(writer).experts->normalised);
    writer.set(architecture + ".expert_weights_norm", false);
    EXPECT_FALSE(config_of(writer).experts->normalised);
  }
}

// Files of Qwen1.5-MoE of April 2024 have one width: that of the shared expert, and of a token's 3 experts together.
TEST(ExpertConfig, of_the_first_files_of_qwens_mixtures_finds_widths_that_no_key_states) {
  GgufWriter writer = expert_writer({.architecture = "qwen2moe"}, {});
  writer.remove("qwen2moe.expert_feed_forward_length").remove("qwen2moe.expert_shared_feed_forward_length");
  writer.set("qwen2moe.expert_used_count", uint32_t{3}).remove_tensor("blk.0.ffn_up_exps.weight");
  writer.tensor("blk.0.ffn_up_exps.weight", {64, 32, 6}, StorageType::f32, std::vector<std::byte>(4 * 64 * 32 * 6));
  EXPECT_FALSE(config_of(writer).experts->shared_gate);
  writer.tensor("blk.0.ffn_up_shexp.weight", {64, 96}, StorageType::f32, std::vector<std::byte>(4 * 64 * 96));
  const ExpertsConfig experts = config_of(writer).experts.value();
  EXPECT_EQ(experts.feed_forward, 32);
  EXPECT_EQ(experts.shared_feed_forward, 96);
  EXPECT_TRUE(experts.shared_gate);
  writer.set("qwen2moe.expert_feed_forward_length", uint32_t{70});
  EXPECT_EQ(config_of(writer).experts->feed_forward, 70) << "a key counts";
}

TEST(ExpertConfig, refuses_weights_that_the_architecture_does_not_have) {
  expect_refused({{"not normalised", [](auto& w) { w.set("llama.expert_weights_norm", false); }, "add up to 1"}},
                 [] { return expert_writer({}, {}); });
  expect_refused({{"a softmax in the place of the sparse mixer",
                   [](auto& w) { w.set("phimoe.expert_gating_func", uint32_t{1}); }, "'phimoe.expert_gating_func'"}},
                 [] { return expert_writer({.architecture = "phimoe"}, {}); });
}

TEST(ExpertConfig, refuses_latents_that_it_does_not_know) {
  const auto make = [] {
    GgufWriter writer = expert_writer({.architecture = "deepseek2", .head_dim = 24}, {});
    return writer.set("deepseek2.attention.kv_lora_rank", uint32_t{32})
        .set("deepseek2.rope.dimension_count", uint32_t{8});
  };
  expect_refused(
      {{"too wide latents of queries",
        [](auto& w) { w.set("deepseek2.attention.q_lora_rank", (uint32_t{1} << 20) + 1); }, "q_lora_rank"},
       {"no rank", [](auto& w) { w.remove("deepseek2.attention.kv_lora_rank"); }, "kv_lora_rank"},
       {"no width of keys", [](auto& w) { w.set("deepseek2.rope.dimension_count", uint32_t{24}); },
        "expected more than the 24 that are turned"},
       {"too wide", [](auto& w) { w.set("deepseek2.attention.kv_lora_rank", uint32_t{4090}); }, "at most 4096"}},
      make);
}

TEST(ExpertSpecs, of_latents_of_queries_project_these_first) {
  const ModelConfig config = model_shape("deepseek-v3");
  const LayerSpec layer = spec_of_layer(config, 0);
  EXPECT_THAT(names(layer.qkv), ElementsAre("blk.0.attn_q_a.weight", "blk.0.attn_kv_a_mqa.weight"));
  EXPECT_EQ(layer.qkv.weights[0].rows, 1536);
  EXPECT_EQ(layer.query_norm.name, "blk.0.attn_q_a_norm.weight");
  EXPECT_THAT(names(layer.query_up), ElementsAre("blk.0.attn_q_b.weight"));
  EXPECT_EQ(layer.query_up.weights[0].rows, 128 * 192);
  EXPECT_EQ(layer.query_up.weights[0].columns, 1536);
  EXPECT_EQ(config.projected_width(), 1536 + 576);
}

TEST(ExpertSpecs, have_a_bias_for_choices_behind_the_dense_layers) {
  const ModelConfig config = model_shape("glm-4.5");
  EXPECT_EQ(spec_of_layer(config, 2).router_bias.name, "");
  EXPECT_EQ(spec_of_layer(config, 3).router_bias.name, "blk.3.exp_probs_b.bias");
  EXPECT_EQ(spec_of_layer(config, 3).router_bias.length, 160);
  EXPECT_EQ(spec_of_layer(config, 3).ffn_norm.name, "blk.3.post_attention_norm.weight");
}

GgufWriter grouped_writer() {
  GgufWriter writer = expert_writer({.architecture = "glm4moe"}, {});
  writer.set("glm4moe.expert_group_count", uint32_t{3}).set("glm4moe.expert_group_used_count", uint32_t{2});
  return writer;
}

TEST(ExpertConfig, has_groups_of_experts) {
  const ExpertsConfig experts = config_of(grouped_writer()).experts.value();
  EXPECT_EQ(experts.groups, 3);
  EXPECT_EQ(experts.groups_used, 2);
  EXPECT_EQ(experts.gating, Gating::sigmoid);
  EXPECT_TRUE(experts.normalised);
  EXPECT_FALSE(experts.choice_bias) << "the file has none";
  GgufWriter biased = grouped_writer();
  biased.tensor("blk.0.exp_probs_b.bias", {6}, StorageType::f32, std::vector<std::byte>(24));
  EXPECT_TRUE(config_of(biased).experts->choice_bias);
}

TEST(ExpertConfig, refuses_groups_that_tokens_cannot_choose_among) {
  expect_refused(
      {{"of unequal size", [](auto& w) { w.set("glm4moe.expert_group_count", uint32_t{4}); }, "found 4"},
       {"of one expert", [](auto& w) { w.set("glm4moe.expert_group_count", uint32_t{6}); },
        "of two and more experts each"},
       {"more used than there are", [](auto& w) { w.set("glm4moe.expert_group_used_count", uint32_t{4}); },
        "expected 1 to 3"},
       {"none used", [](auto& w) { w.set("glm4moe.expert_group_used_count", uint32_t{0}); }, "found 0"},
       {"too few experts",
        [](auto& w) {
          w.set("glm4moe.expert_used_count", uint32_t{3}).set("glm4moe.expert_group_used_count", uint32_t{1});
        },
        "the 3 experts of a token"},
       {"a softmax", [](auto& w) { w.set("glm4moe.expert_gating_func", uint32_t{1}); },
        "'glm4moe.expert_gating_func'"}},
      grouped_writer);
}

// Two layers in the file, of which the last one drafts.
// Youtu-LLM is one. Its converter writes how wide experts would be, and that all layers are dense.
TEST(ExpertConfig, of_deepseek2_may_be_a_dense_model) {
  GgufWriter writer = expert_writer({.architecture = "deepseek2", .head_dim = 24}, {});
  for (const char* key : {"expert_count", "expert_used_count"}) writer.remove("deepseek2." + std::string(key));
  writer.set("deepseek2.attention.kv_lora_rank", uint32_t{32}).set("deepseek2.rope.dimension_count", uint32_t{8});
  writer.set("deepseek2.leading_dense_block_count", uint32_t{2}).set("deepseek2.expert_shared_count", uint32_t{0});
  const ModelConfig config = config_of(writer);
  EXPECT_FALSE(config.experts);
  EXPECT_EQ(config.kv_heads, 1) << "latent attention";
}

TEST(ExpertConfig, of_glm4_takes_positions_of_three_dimensions_as_one) {
  GgufWriter writer = expert_writer({.architecture = "glm4moe", .heads = 4, .head_dim = 32}, {});
  writer.set("glm4moe.rope.dimension_sections", std::vector<int32_t>{4, 6, 6, 0});
  EXPECT_TRUE(config_of(writer).rope.halves);
  writer.set("glm4moe.rope.dimension_sections", std::vector<int32_t>{4, 6, 4, 2});
  EXPECT_THROW(config_of(writer), Error);
}

TEST(ExpertConfig, counts_no_layers_that_draft) {
  GgufWriter writer = expert_writer({.architecture = "glm4moe"}, {});
  writer.set("glm4moe.nextn_predict_layers", uint32_t{1});
  EXPECT_EQ(config_of(writer).layers, 1);
  EXPECT_EQ(config_of(writer).draft_layers, 1);
  writer.set("glm4moe.nextn_predict_layers", uint32_t{0});
  EXPECT_EQ(config_of(writer).layers, 2);
  expect_refused({{"all of them", [](auto& w) { w.set("glm4moe.nextn_predict_layers", uint32_t{2}); },
                   "expected fewer than the 2 layers"}},
                 [] { return expert_writer({.architecture = "glm4moe"}, {}); });
}

TEST(ExpertConfig, has_experts_in_the_last_layer_of_each_period) {
  GgufWriter writer = expert_writer({.architecture = "ernie4_5-moe"}, {});
  writer.set("ernie4_5-moe.interleave_moe_layer_step", uint32_t{2});
  const ModelConfig config = config_of(writer);
  EXPECT_FALSE(config.has_experts(0));
  EXPECT_TRUE(config.has_experts(1));
  writer.set("ernie4_5-moe.interleave_moe_layer_step", uint32_t{0});
  EXPECT_TRUE(config_of(writer).has_experts(0)) << "0 states nothing";
}

TEST(ExpertConfig, takes_a_layer_norms_number_from_either_key) {
  GgufWriter writer = expert_writer({.architecture = "phimoe"}, {});
  EXPECT_EQ(config_of(writer).norm_eps, 1e-5f) << "RMSNorm's key, which is all that some files have";
  writer.set("phimoe.attention.layer_norm_epsilon", 1e-3f);
  EXPECT_EQ(config_of(writer).norm_eps, 1e-3f);
  writer.remove("phimoe.attention.layer_norm_rms_epsilon");
  EXPECT_EQ(config_of(writer).norm_eps, 1e-3f);
}

TEST(ExpertConfig, has_factors_for_short_and_for_long_contexts) {
  GgufWriter writer = expert_writer({.architecture = "phimoe", .context_length = 128}, {});
  const auto factors = [](float first) {
    ByteSink sink;
    for (int i = 0; i < 8; ++i) sink.put(first + static_cast<float>(i));
    return sink.bytes();
  };
  writer.set("phimoe.rope.scaling.original_context_length", uint32_t{4});
  writer.tensor("rope_factors_short.weight", {8}, StorageType::f32, factors(1));
  GgufWriter half = writer;
  EXPECT_THROW(config_of(half), Error);
  writer.tensor("rope_factors_long.weight", {8}, StorageType::f32, factors(5));
  const RopeConfig rope = config_of(writer).rope;
  EXPECT_EQ(rope.frequency_factors[0], 1.0f);
  EXPECT_EQ(rope.long_factors[0], 5.0f);
  std::vector<float> brief(4 * 16), extended(5 * 16);
  fill_rope_table(rope, 4, brief.data());
  fill_rope_table(rope, 5, extended.data());
  EXPECT_FLOAT_EQ(brief[16], std::cos(1.0f)) << "position 1, pair 0";
  EXPECT_FLOAT_EQ(extended[16], std::cos(1.0f / 5.0f));
}

}  // namespace
}  // namespace tandem
