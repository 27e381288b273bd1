#include "engine/model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "engine/model/rope.h"
#include "engine/model/shapes.h"
#include "engine/model/weights.h"
#include "sync/error.h"
#include "tests/engine/model/refused_files.h"
#include "tests/support/data.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/message_of.h"

namespace tandem {
namespace {

using test::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace tandem::testing;

TEST(ModelConfig, has_the_shapes_that_the_file_says) {
  const ModelConfig config =
      config_of(tiny_writer({.layers = 3, .hidden = 48, .feed_forward = 80, .heads = 6, .kv_heads = 2}));
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.name, "tiny");
  EXPECT_EQ(config.layers, 3);
  EXPECT_EQ(config.hidden, 48);
  EXPECT_EQ(config.feed_forward, 80);
  EXPECT_EQ(config.head_dim, 8);
  EXPECT_EQ(config.head_dim_v, 8);
  EXPECT_EQ(config.rope.dim, 8);
  EXPECT_EQ(config.qkv_width(), 48 + 16 + 16);
  EXPECT_EQ(config.vocabulary, 320);
  EXPECT_FALSE(config.tied_output || config.qkv_bias || config.output_bias || config.qk_norm || config.rope.halves);
}

TEST(ModelConfig, takes_heads_of_their_own_width) {
  const ModelConfig config =
      config_of(tiny_writer({.architecture = "qwen3", .heads = 4, .head_dim = 32, .qk_norm = true}));
  EXPECT_EQ(config.head_dim, 32);
  EXPECT_EQ(config.head_dim_v, 32);
  EXPECT_EQ(config.q_width(), 128);
  EXPECT_TRUE(config.qk_norm && config.rope.halves);
}

TEST(ModelConfig, defaults_what_a_file_may_leave_out) {
  GgufWriter writer = tiny_writer({});
  for (const char* key : {"llama.attention.head_count_kv", "llama.vocab_size", "llama.rope.dimension_count",
                          "llama.rope.freq_base", "general.name"}) {
    writer.remove(key);
  }
  const ModelConfig config = config_of(writer);
  EXPECT_EQ(config.kv_heads, config.heads);
  EXPECT_EQ(config.vocabulary, 320);
  EXPECT_EQ(config.rope.dim, 16);
  EXPECT_EQ(config.rope.base, 10000.0f);
  EXPECT_EQ(config.rope.original_context, config.context_length);
  EXPECT_EQ(config.name, "llama");
}

TEST(ModelConfig, notices_biases_and_a_tied_output) {
  const ModelConfig config =
      config_of(tiny_writer({.architecture = "qwen2", .tied_output = true, .qkv_bias = true, .output_bias = true}));
  EXPECT_TRUE(config.tied_output && config.qkv_bias && config.output_bias && config.rope.halves);
}

TEST(ModelConfig, reads_every_rope_scaling) {
  GgufWriter writer = tiny_writer({});
  writer.set("llama.rope.scale_linear", 2.0f);
  EXPECT_EQ(config_of(writer).rope.scaling, RopeScaling::linear);
  EXPECT_EQ(config_of(writer).rope.scale_factor, 2.0f);
  writer.set("llama.rope.scaling.factor", 4.0f);
  EXPECT_EQ(config_of(writer).rope.scale_factor, 4.0f);
  writer.set("llama.rope.scaling.type", "none");
  EXPECT_EQ(config_of(writer).rope.scaling, RopeScaling::none);
  EXPECT_EQ(config_of(writer).rope.scale_factor, 1.0f);
  writer.set("llama.rope.scaling.type", "yarn").set("llama.rope.scaling.original_context_length", uint32_t{32});
  writer.set("llama.rope.scaling.attn_factor", 1.25f);
  const ModelConfig yarn = config_of(writer);
  EXPECT_EQ(yarn.rope.scaling, RopeScaling::yarn);
  EXPECT_EQ(yarn.rope.scale_factor, 4.0f);
  EXPECT_EQ(yarn.rope.original_context, 32);
  EXPECT_EQ(yarn.rope.attention_factor, 1.25f);
  const ModelConfig factors = config_of(tiny_writer({.hidden = 16, .heads = 4, .frequency_factors = {1.0f, 8.0f}}));
  EXPECT_EQ(factors.rope.scaling, RopeScaling::frequency_factors);
  EXPECT_THAT(factors.rope.frequency_factors, ElementsAre(1.0f, 8.0f));
}

// OLMo 3 publishes YaRN's whole magnitude, 1 + 0.1 ln 8. Converters of 2025 write it in the first key, later ones in
// the second. Elsewhere the first key is a factor on the magnitude.
TEST(ModelConfig, reads_the_whole_magnitude_of_yarn) {
  const auto magnitude = [](const std::string& architecture, const std::vector<std::string>& keys) {
    GgufWriter writer = tiny_writer({.architecture = architecture});
    const std::string scaling = architecture + ".rope.scaling.";
    writer.set(scaling + "type", "yarn").set(scaling + "factor", 8.0f);
    for (const std::string& key : keys) writer.set(scaling + key, 1.25f);
    return rope_magnitude(config_of(writer).rope);
  };
  const double of_factor = 1 + 0.1 * std::log(8.0);
  EXPECT_DOUBLE_EQ(magnitude("olmo2", {}), of_factor);
  EXPECT_DOUBLE_EQ(magnitude("olmo2", {"attn_factor"}), 1.25);
  EXPECT_DOUBLE_EQ(magnitude("olmo2", {"yarn_attn_factor"}), 1.25);
  EXPECT_DOUBLE_EQ(magnitude("olmo2", {"attn_factor", "yarn_attn_factor"}), 1.25);
  EXPECT_DOUBLE_EQ(magnitude("llama", {"attn_factor"}), 1.25 * of_factor);
  EXPECT_DOUBLE_EQ(magnitude("llama", {"yarn_attn_factor"}), 1.25);
}

// 1 is what files say that leave the magnitude to the factor.
TEST(ModelConfig, keeps_the_magnitude_of_the_factor_where_a_file_states_1) {
  GgufWriter writer = tiny_writer({});
  writer.set("llama.rope.scaling.type", "yarn").set("llama.rope.scaling.factor", 8.0f);
  writer.set("llama.rope.scaling.yarn_attn_factor", 1.0f);
  EXPECT_DOUBLE_EQ(rope_magnitude(config_of(writer).rope), 1 + 0.1 * std::log(8.0));
  writer.set("llama.rope.scaling.yarn_attn_factor", 1.25f).set("llama.rope.scaling.attn_factor", 1.5f);
  EXPECT_THAT(message_of([&] { config_of(writer); }), HasSubstr("found 1.25 beside another attn_factor"));
}

// Converters of 2025 and later name the scaling whose factors are tensors.
TEST(ModelConfig, reads_longrope_by_its_tensors) {
  GgufWriter writer = tiny_writer({.architecture = "phi3", .context_length = 128});
  writer.set("phi3.rope.scaling.type", "longrope");
  EXPECT_THAT(message_of([&] { config_of(writer); }),
              HasSubstr("found 'longrope' without the tensors 'rope_factors_short.weight'"));
  for (const char* name : {"rope_factors_short.weight", "rope_factors_long.weight"}) {
    ByteSink factors;
    for (int i = 0; i < 8; ++i) factors.put(1.0f + static_cast<float>(i));
    writer.tensor(name, {8}, StorageType::f32, factors.bytes());
  }
  const RopeConfig rope = config_of(writer).rope;
  EXPECT_EQ(rope.scaling, RopeScaling::frequency_factors);
  EXPECT_EQ(rope.scale_factor, 1.0f);
  EXPECT_EQ(rope.long_factors.back(), 8.0f);
  writer.set("phi3.rope.scaling.factor", 4.0f);
  EXPECT_THAT(message_of([&] { config_of(writer); }), HasSubstr("found 4 beside 'longrope'"));
}

// The first files of this model name neither window nor caps.
TEST(ModelConfig, of_gemma2_is_as_published_where_a_file_says_nothing) {
  GgufWriter writer = tiny_writer({.architecture = "gemma2"});
  const ModelConfig silent = config_of(writer);
  EXPECT_EQ(silent.window, 4096);
  EXPECT_EQ(silent.attention_cap, 50.0f);
  EXPECT_EQ(silent.logit_cap, 30.0f);
  EXPECT_THAT(silent.has_window, ElementsAre(true, false));
  writer.set("gemma2.attention.sliding_window", uint32_t{16}).set("gemma2.attn_logit_softcapping", 20.0f);
  writer.set("gemma2.final_logit_softcapping", 10.0f);
  const ModelConfig said = config_of(writer);
  EXPECT_EQ(said.window, 16);
  EXPECT_EQ(said.attention_cap, 20.0f);
  EXPECT_EQ(said.logit_cap, 10.0f);
  writer.set("gemma2.final_logit_softcapping", 0.0f);
  EXPECT_THROW(config_of(writer), Error);
}

TEST(ModelConfig, of_gemma3_has_a_cap_of_the_logits_where_a_file_states_one) {
  GgufWriter writer = tiny_writer({.architecture = "gemma3"});
  EXPECT_EQ(config_of(writer).logit_cap, 0.0f);
  writer.set("gemma3.final_logit_softcapping", 0.0f);
  EXPECT_EQ(config_of(writer).logit_cap, 0.0f);
  writer.set("gemma3.final_logit_softcapping", 30.0f);
  EXPECT_EQ(config_of(writer).logit_cap, 30.0f);
}

// Older files of this model name no scales. Of 2 layers and 16 values: 1.4 / sqrt(2) and 256 / 16.
TEST(ModelConfig, of_minicpm_has_the_published_scales_where_a_file_says_nothing) {
  GgufWriter writer = tiny_writer({.architecture = "minicpm"});
  const ModelConfig silent = config_of(writer);
  EXPECT_EQ(silent.embedding_scale, 12.0f);
  EXPECT_FLOAT_EQ(silent.residual_scale, 1.4f / std::sqrt(static_cast<float>(silent.layers)));
  EXPECT_EQ(silent.logit_scale, 256.0f / static_cast<float>(silent.hidden));
  writer.set("minicpm.embedding_scale", 2.0f).set("minicpm.residual_scale", 0.5f).set("minicpm.logit_scale", 4.0f);
  const ModelConfig said = config_of(writer);
  EXPECT_EQ(said.embedding_scale, 2.0f);
  EXPECT_EQ(said.residual_scale, 0.5f);
  EXPECT_EQ(said.logit_scale, 0.25f);
}

// The key is a factor in these files and a divisor in Granite's and MiniCPM's.
// Nothing but the name is read, so files of these architectures need no key of their own here.
// A text's tokens have one position in all three dimensions.
TEST(ModelConfig, takes_positions_of_three_dimensions_as_one) {
  for (const char* name : {"qwen2vl", "qwen3vl", "glm4"}) {
    const bool norms = std::string(name) == "qwen3vl";
    GgufWriter writer = tiny_writer({.architecture = name, .heads = 4, .head_dim = 32, .qk_norm = norms});
    const std::string key = std::string(name) + ".rope.dimension_sections";
    writer.set(key, std::vector<int32_t>{4, 6, 6, 0});
    EXPECT_EQ(config_of(writer).rope.dim, 32);
    EXPECT_TRUE(config_of(writer).rope.halves);
    expect_refused({{"a fourth dimension",
                     [&](GgufWriter& w) {
                       w.set(key, std::vector<int32_t>{4, 6, 4, 2});
                     },
                     "found 14 pairs"}},
                   [&] { return writer; });
    writer.set(key, std::vector<int32_t>{0, 0, 0, 0});
    EXPECT_EQ(config_of(writer).rope.halves, std::string(name) != "glm4") << "no dimensions";
  }
}

TEST(ModelConfig, names_the_operator_that_a_declined_architecture_needs) {
  const std::pair<const char*, const char*> declined[] = {{"mamba", "state-space layers"},
                                                          {"mamba2", "state-space layers"},
                                                          {"jamba", "state-space layers"},
                                                          {"falcon-h1", "state-space layers"},
                                                          {"granitehybrid", "state-space"},
                                                          {"nemotron_h", "state-space layers"},
                                                          {"nemotron_h_moe", "state-space"},
                                                          {"plamo2", "state-space layers"},
                                                          {"rwkv6", "linear attention (RWKV)"},
                                                          {"rwkv6qwen2", "linear attention (RWKV)"},
                                                          {"rwkv7", "linear attention (RWKV)"},
                                                          {"arwkv7", "linear attention (RWKV)"},
                                                          {"qwen3next", "linear attention"},
                                                          {"qwen35", "linear attention (gated delta rule)"},
                                                          {"qwen35moe", "linear attention"},
                                                          {"kimi-linear", "linear attention (gated delta rule)"},
                                                          {"lfm2", "convolutions"},
                                                          {"lfm2moe", "convolutions"},
                                                          {"wavtokenizer-dec", "convolutions"},
                                                          {"t5", "attention to another sequence"},
                                                          {"t5encoder", "another sequence"},
                                                          {"dream", "diffusion"},
                                                          {"llada", "diffusion"},
                                                          {"llada-moe", "diffusion"},
                                                          {"rnd1", "diffusion"},
                                                          {"paddleocr", "pictures"},
                                                          {"hunyuan_vl", "pictures"},
                                                          {"cogvlm", "pictures"},
                                                          {"glm-dsa", "sparse attention"},
                                                          {"clip", "open the model's file"},
                                                          {"nobody-has-published", "supported are"}};
  std::vector<Refusal> refusals;
  for (const auto& [name, needs] : declined)
    refusals.push_back({name, [name](GgufWriter& w) { w.set("general.architecture", name); }, needs});
  expect_refused(refusals, [] { return tiny_writer({}); });
}

TEST(ModelConfig, takes_the_scale_of_logits_as_the_architecture_means_it) {
  const auto scale = [](const std::string& architecture, float key) {
    GgufWriter writer = tiny_writer({.architecture = architecture});
    writer.set(architecture + ".logit_scale", key);
    return config_of(writer).logit_scale;
  };
  EXPECT_EQ(scale("command-r", 0.8333333f), 0.8333333f);
  EXPECT_EQ(scale("cohere2", 0.25f), 0.25f);
  EXPECT_EQ(scale("granite", 0.25f), 4.0f);
  EXPECT_EQ(scale("command-r", 0.0f), 1.0f) << "none";
  EXPECT_THROW(scale("command-r", -1.0f), Error);
}

TEST(ModelConfig, of_parallel_blocks_may_say_so) {
  GgufWriter phi2 = tiny_writer({.architecture = "phi2"});
  EXPECT_TRUE(config_of(phi2.set("phi2.use_parallel_residual", true)).parallel);
  EXPECT_THROW(config_of(phi2.set("phi2.use_parallel_residual", false)), Error);
}

// Original context 16, factor 4, temperature 0.1, as the keys of Ministral 3 say it.
TEST(ModelConfig, of_mistral3_has_a_temperature_and_no_factor_on_the_rotation) {
  GgufWriter writer = tiny_writer({.architecture = "mistral3"});
  EXPECT_FALSE(config_of(writer).temperature) << "Mistral Small 3.1";
  writer.set("mistral3.rope.scaling.type", "yarn").set("mistral3.rope.scaling.factor", 4.0f);
  writer.set("mistral3.rope.scaling.original_context_length", uint32_t{16});
  writer.set("mistral3.rope.scaling.yarn_log_multiplier", 1.0f);
  writer.set("mistral3.rope.scaling.yarn_beta_fast", 32.0f).set("mistral3.rope.scaling.yarn_beta_slow", 1.0f);
  writer.set("mistral3.attention.temperature_scale", 0.1f);
  const ModelConfig config = config_of(writer);
  EXPECT_EQ(config.temperature, (TemperatureConfig{0.1f, 16}));
  EXPECT_EQ(config.rope.yarn_divisor, 1.0f);
  EXPECT_TRUE(config.has_temperature(17));
  EXPECT_FALSE(config.has_temperature(16)) << "every position is below the length";
  writer.set("mistral3.attention.temperature_scale", 0.0f);
  EXPECT_FALSE(config_of(writer).temperature);
  for (const float bad : {-0.5f, std::nanf(""), 1e9f})
    EXPECT_THROW(config_of(writer.set("mistral3.attention.temperature_scale", bad)), Error) << bad;
  writer.set("mistral3.attention.temperature_scale", 0.1f).set("mistral3.rope.dimension_count", uint32_t{8});
  EXPECT_THROW(config_of(writer), Error) << "heads are rotated in part";
}

TEST(ModelConfig, of_starcoder2_has_the_published_window_where_a_file_says_nothing) {
  GgufWriter writer = tiny_writer({.architecture = "starcoder2"});
  EXPECT_EQ(config_of(writer).window, 4096);
  EXPECT_EQ(config_of(writer.set("starcoder2.attention.sliding_window", uint32_t{16})).window, 16);
}

// Falcon 3 is a Llama with heads of 256 values. Its files have these keys.
TEST(ModelConfig, of_falcon3_is_that_of_a_llama) {
  GgufWriter writer = tiny_writer({.hidden = 64, .heads = 2, .kv_heads = 1, .head_dim = 256, .rope_base = 1000042.0f});
  writer.set("llama.attention.layer_norm_rms_epsilon", 1e-6f).set("tokenizer.ggml.pre", "falcon3");
  const ModelConfig config = config_of(writer);
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.head_dim_v, 256);
  EXPECT_EQ(config.rope.dim, 256);
  EXPECT_EQ(config.rope.base, 1000042.0f);
  EXPECT_EQ(config.norm_eps, 1e-6f);
}

// Phi-4 states a window of 0 for "none". Phi-4-mini rotates three quarters of each head, by factors for short and for
// long contexts, and its window is wider than its context.
TEST(ModelConfig, of_phi4_is_that_of_phi3) {
  GgufWriter writer = tiny_writer({.architecture = "phi3", .context_length = 128});
  writer.set("phi3.attention.sliding_window", uint32_t{0});
  writer.set("phi3.rope.scaling.original_context_length", uint32_t{128});
  const ModelConfig phi4 = config_of(writer);
  EXPECT_EQ(phi4.window, 0);
  EXPECT_TRUE(phi4.rope.frequency_factors.empty());
  writer.set("phi3.attention.sliding_window", uint32_t{262144}).set("phi3.rope.dimension_count", uint32_t{12});
  writer.set("phi3.rope.scaling.original_context_length", uint32_t{32}).set("phi3.rope.scaling.attn_factor", 1.19f);
  for (const char* name : {"rope_factors_short.weight", "rope_factors_long.weight"}) {
    ByteSink factors;
    for (int i = 0; i < 6; ++i) factors.put(1.0f + static_cast<float>(i));
    writer.tensor(name, {6}, StorageType::f32, factors.bytes());
  }
  const ModelConfig mini = config_of(writer);
  EXPECT_EQ(mini.rope.dim, 12);
  EXPECT_EQ(mini.rope.long_factors.size(), 6u);
  EXPECT_EQ(mini.rope.original_context, 32);
  EXPECT_EQ(mini.rope.attention_factor, 1.19f);
}

TEST(ModelConfig, says_which_layers_have_windows_and_rotations) {
  const auto shape = [](const std::string& architecture, const std::string& more) {
    return parse_shape(R"({"schema": 1, "layers": 5, "hidden": 64, "feed_forward": 64, "heads": 4, "vocabulary": 300,
                          "architecture": ")" +
                           architecture + "\"" + more + "}",
                       "test");
  };
  EXPECT_THAT(shape("smollm3", "").has_rope, ElementsAre(true, true, true, false, true));
  const ModelConfig large = shape("exaone4", R"(, "sliding_window": 8)"), small = shape("exaone4", "");
  EXPECT_THAT(large.has_window, ElementsAre(true, true, true, false, true));
  EXPECT_THAT(large.has_rope, ElementsAre(true, true, true, false, true));
  EXPECT_FALSE(large.rotates(3));
  EXPECT_TRUE(small.rotates(3));
  const ModelConfig olmo3 = shape("olmo2", R"(, "sliding_window": 8)");
  EXPECT_EQ(olmo3.window_of(2), 8);
  EXPECT_EQ(olmo3.window_of(3), 0);
  EXPECT_TRUE(olmo3.rotates(3));
  const ModelConfig cohere2 = shape("cohere2", "");
  EXPECT_EQ(cohere2.window_of(4), 4096);
  EXPECT_EQ(cohere2.window_of(3), 0);
  EXPECT_FALSE(cohere2.rotates(3));
}

TEST(ModelConfig, refuses_what_it_would_have_to_guess) {
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Refusal> refusals = {
      {"unknown architecture", [](auto& w) { w.set("general.architecture", "mamba"); },
       "supported are arcee, bailingmoe, bert, cohere2, command-r, deepseek, deepseek2, ernie4_5, ernie4_5-moe, "
       "exaone, "
       "exaone4, gemma, "
       "gemma2"},
      {"no architecture", [](auto& w) { w.remove("general.architecture"); }, "'general.architecture'"},
      {"no layers key", [](auto& w) { w.remove("llama.block_count"); }, "'llama.block_count'"},
      {"0 layers", [](auto& w) { w.set("llama.block_count", uint32_t{0}); }, "found 0, expected 1 to"},
      {"absurd layers", [](auto& w) { w.set("llama.block_count", uint32_t{4000000000}); }, "'llama.block_count'"},
      {"negative width", [](auto& w) { w.set("llama.embedding_length", int32_t{-64}); }, "'llama.embedding_length'"},
      {"text for a width", [](auto& w) { w.set("llama.embedding_length", "64"); }, "expected an integer"},
      {"absurd width", [](auto& w) { w.set("llama.feed_forward_length", uint64_t{1} << 63); },
       "'llama.feed_forward_length'"},
      {"heads do not divide", [](auto& w) { w.set("llama.attention.head_count", uint32_t{5}); },
       "'llama.attention.head_count"},
      {"kv heads do not divide", [](auto& w) { w.set("llama.attention.head_count_kv", uint32_t{3}); },
       "expected a divisor of the 4 heads"},
      {"kv heads by layer",
       [](auto& w) {
         w.set("llama.attention.head_count_kv", std::vector<uint32_t>{2, 4});
       },
       "expected one number for all layers"},
      {"ffn by layer",
       [](auto& w) {
         w.set("llama.feed_forward_length", std::vector<int32_t>{96, 64});
       },
       "expected one number for all layers"},
      {"odd rotation", [](auto& w) { w.set("llama.rope.dimension_count", uint32_t{7}); }, "expected an even number"},
      {"rotation too wide", [](auto& w) { w.set("llama.rope.dimension_count", uint32_t{18}); },
       "found 18, expected 1 to 16"},
      {"base NaN", [=](auto& w) { w.set("llama.rope.freq_base", kNan); }, "not finite"},
      {"base 0", [](auto& w) { w.set("llama.rope.freq_base", 0.0f); }, "'llama.rope.freq_base'"},
      {"no epsilon", [](auto& w) { w.remove("llama.attention.layer_norm_rms_epsilon"); }, "layer_norm_rms_epsilon"},
      {"negative epsilon", [](auto& w) { w.set("llama.attention.layer_norm_rms_epsilon", -1e-5f); }, "between 0 and 1"},
      {"unknown scaling", [](auto& w) { w.set("llama.rope.scaling.type", "dynamic"); },
       "found 'dynamic', expected none, linear, yarn or longrope"},
      {"scaling without its tensors", [](auto& w) { w.set("llama.rope.scaling.type", "longrope"); },
       "found 'longrope' without the tensors"},
      {"negative factor", [](auto& w) { w.set("llama.rope.scaling.factor", -2.0f); }, "'llama.rope.scaling.factor'"},
      {"experts", [](auto& w) { w.set("llama.expert_count", uint32_t{8}); }, "'llama.expert_used_count'"},
      {"logit scale", [](auto& w) { w.set("llama.logit_scale", 0.5f); }, "'llama.logit_scale'"},
      {"window", [](auto& w) { w.set("llama.attention.sliding_window", uint32_t{16}); }, "window"},
      {"absurd vocabulary", [](auto& w) { w.set("llama.vocab_size", uint32_t{1} << 30); }, "'llama.vocab_size'"},
      {"factors of another width",
       [](auto& w) { w.tensor("rope_freqs.weight", {2}, StorageType::f32, std::vector<std::byte>(8)); },
       "expected 8 values of type F32"},
      {"factors of 0",
       [](auto& w) { w.tensor("rope_freqs.weight", {8}, StorageType::f32, std::vector<std::byte>(32)); },
       "expected positive finite"},
  };
  expect_refused(refusals, [] { return tiny_writer({}); });
}

TEST(ModelConfig, refuses_experts_of_an_architecture_that_has_none) {
  GgufWriter writer = tiny_writer({.architecture = "qwen2"});
  writer.set("qwen2.expert_count", uint32_t{8}).set("qwen2.expert_used_count", uint32_t{2});
  try {
    config_of(writer);
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'qwen2.expert_count'"));
  }
}

TEST(ModelConfig, of_every_dense_test_model_is_as_published) {
  for (const char* name : {"llama", "llama3-rope", "internlm2", "qwen2", "qwen3"}) {
    SCOPED_TRACE(name);
    const std::string model = name;
    const auto path = larger_data("arch-models/" + model + "-F32.gguf");
    if (!path) continue;  // tests/data has all except the first
    const ModelConfig config = read_config(GgufFile::open(*path));
    EXPECT_EQ(config.architecture, model == "llama3-rope" ? "llama" : model);
    EXPECT_EQ(config.layers, 3);
    EXPECT_EQ(config.hidden, 64);
    EXPECT_EQ(config.feed_forward, 128);
    EXPECT_EQ(config.heads, 4);
    EXPECT_EQ(config.kv_heads, 2);
    EXPECT_EQ(config.head_dim, model == "qwen3" ? 32 : 16);
    EXPECT_EQ(config.rope.dim, config.head_dim);
    EXPECT_EQ(config.vocabulary, 512);
    EXPECT_EQ(config.norm_eps, 1e-5f);
    EXPECT_EQ(config.rope.base, model.starts_with("llama") ? 500000.0f : 1000000.0f);
    EXPECT_EQ(config.rope.halves, model.starts_with("qwen"));
    EXPECT_EQ(config.qkv_bias, model == "qwen2");
    EXPECT_EQ(config.qk_norm, model == "qwen3");
    EXPECT_EQ(config.tied_output, model == "qwen2");
    EXPECT_EQ(config.rope.frequency_factors.size(), model == "llama3-rope" ? 8u : 0u);
  }
}

}  // namespace
}  // namespace tandem
