// The metadata keys that a file may have. A key that may change the computation must be known, or the file is refused
// by its name.
#include "engine/model/known_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/model/refused_files.h"
#include "tests/support/gguf_writer.h"

namespace tandem {
namespace {

using ::tandem::testing::config_of;
using ::tandem::testing::expect_refused;
using ::tandem::testing::Refusal;
using ::tandem::testing::tiny_writer;
using ::testing::HasSubstr;

// All keys of the package gguf (0.19.0) in Keys.LLM, Attention, Rope, SSM and others that ask for a computation which
// no llama has. Each key has a value that asks for it.
TEST(KnownKeys, every_published_key_of_another_computation_is_refused) {
  std::vector<Refusal> refusals;
  for (const char* key : {"activation_sparsity_scale",
                          "altup.active_idx",
                          "altup.num_inputs",
                          "attention.clamp_kqv",
                          "attention.decay_lora_rank",
                          "attention.gate_lora_rank",
                          "attention.group_norm_groups",
                          "attention.iclr_lora_rank",
                          "attention.indexer.head_count",
                          "attention.indexer.key_length",
                          "attention.indexer.top_k",
                          "attention.kv_lora_rank",
                          "attention.max_alibi_bias",
                          "attention.output_scale",
                          "attention.q_lora_rank",
                          "attention.relative_buckets_count",
                          "attention.scale",
                          "attention.shared_kv_layers",
                          "attention.temperature_length",
                          "attention.temperature_scale",
                          "attention.value_residual_mix_lora_rank",
                          "attn_logit_softcapping",
                          "convnext.block_count",
                          "decoder_block_count",
                          "decoder_start_token_id",
                          "embedding_length_out",
                          "embedding_length_per_layer_input",
                          "embedding_scale",
                          "expert_chunk_feed_forward_length",
                          "expert_group_scale",
                          "experts_per_group",
                          "features_length",
                          "final_logit_softcapping",
                          "full_attention_interval",
                          "interleave_moe_layer_step",
                          "kda.head_dim",
                          "logit_scale",
                          "moe_every_n_layers",
                          "moe_latent_size",
                          "n_deepstack_layers",
                          "nextn_predict_layers",
                          "no_rope_layer_interval",
                          "rescale_every_n_layers",
                          "residual_scale",
                          "rope.dimension_count_swa",
                          "rope.freq_base_swa",
                          "rope.scaling.alpha",
                          "rope.scaling.yarn_attn_factor",
                          "rope.scaling.yarn_ext_factor",
                          "rope.scaling.yarn_log_multiplier",
                          "router_logit_softcapping",
                          "shortconv.l_cache",
                          "ssm.conv_kernel",
                          "ssm.state_size",
                          "swiglu_clamp_exp",
                          "swin_norm",
                          "time_mix_extra_dim",
                          "token_shift_count",
                          "use_parallel_residual",
                          "wkv.head_size"}) {
    const std::string name = "llama." + std::string(key);
    refusals.push_back({key, [=](auto& w) { w.set(name, 3.0f); }, key});
  }
  refusals.push_back({"causal", [](auto& w) { w.set("llama.attention.causal", false); }, "found false, expected true"});
  refusals.push_back(
      {"parallel", [](auto& w) { w.set("llama.use_parallel_residual", true); }, "found true, expected false"});
  refusals.push_back({"a number in a bool's place", [](auto& w) { w.set("llama.attention.causal", uint32_t{0}); },
                      "found 0, expected 1"});
  refusals.push_back({"a bool in a number's place", [](auto& w) { w.set("llama.attention.clamp_kqv", true); },
                      "found true, expected false"});
  refusals.push_back({"a bool where another number is computed",
                      [](auto& w) { w.set("llama.rope.freq_base_swa", true); },
                      "found true, expected 10000, or false for none"});
  refusals.push_back({"sections",
                      [](auto& w) {
                        w.set("llama.rope.dimension_sections", std::vector<int32_t>{16, 24, 24, 0});
                      },
                      "'llama.rope.dimension_sections'"});
  refusals.push_back({"not a number", [](auto& w) { w.set("llama.logit_scale", std::nanf("")); }, "logit_scale"});
  refusals.push_back({"a window that is not a number",
                      [](auto& w) { w.set("llama.attention.sliding_window", std::nanf("")); }, "found nan:"});
  refusals.push_back({"words", [](auto& w) { w.set("llama.logit_scale", std::vector<std::string>{"a"}); },
                      "found an array of string, expected a number, or one for each layer"});
  expect_refused(refusals, [] { return tiny_writer({}); });
}

TEST(KnownKeys, a_key_that_nobody_has_published_is_refused_whatever_its_value) {
  expect_refused(
      {{"new", [](auto& w) { w.set("llama.attention.new_thing", uint32_t{0}); },
        "the key is not known, and may change what the model computes"},
       {"new", [](auto& w) { w.set("llama.attention.new_thing", uint32_t{0}); }, "'llama.attention.new_thing'"},
       {"text", [](auto& w) { w.set("llama.mixer", "fast"); }, "'llama.mixer'"},
       {"misspelt", [](auto& w) { w.set("llama.rope.freqbase", 500000.0f); }, "'llama.rope.freqbase'"}},
      [] { return tiny_writer({}); });
}

TEST(KnownKeys, a_value_that_says_what_is_computed_anyway_is_taken) {
  GgufWriter writer = tiny_writer({});
  const ModelConfig plain = config_of(writer);
  writer.set("llama.attention.causal", true).set("llama.use_parallel_residual", false).set("llama.swin_norm", false);
  writer.set("llama.logit_scale", 1.0f).set("llama.residual_scale", 1.0f).set("llama.embedding_scale", 1.0f);
  writer.set("llama.attention.scale", 1 / std::sqrt(static_cast<float>(plain.head_dim)));
  writer.set("llama.attention.clamp_kqv", 0.0f).set("llama.attention.max_alibi_bias", 0.0f);
  writer.set("llama.attn_logit_softcapping", 0.0f).set("llama.final_logit_softcapping", 0.0f);
  writer.set("llama.attention.q_lora_rank", uint32_t{0}).set("llama.attention.kv_lora_rank", uint32_t{0});
  writer.set("llama.attention.sliding_window", static_cast<uint32_t>(plain.context_length));
  writer.set("llama.attention.key_length_swa", static_cast<uint32_t>(plain.head_dim));
  writer.set("llama.rope.freq_base_swa", plain.rope.base).set("llama.rope.scaling.yarn_ext_factor", -1.0f);
  writer.set("llama.rope.dimension_sections", std::vector<int32_t>{0, 0, 0, 0});
  writer.set("llama.expert_count", uint32_t{0}).set("llama.expert_used_count", uint32_t{0});
  writer.set("llama.nextn_predict_layers", uint32_t{0}).set("llama.interleave_moe_layer_step", uint32_t{0});
  ModelConfig with_window = plain;  // the window is not shorter than the trained context
  with_window.widest_context = plain.context_length;
  EXPECT_EQ(config_of(writer), with_window);
}

TEST(KnownKeys, what_carries_no_computation_is_taken_whatever_its_value) {
  GgufWriter writer = tiny_writer({});
  const ModelConfig plain = config_of(writer);
  writer.set("llama.tensor_data_layout", "Meta AI original pth").set("llama.rope.scaling.finetuned", true);
  writer.set("llama.attention.layer_norm_epsilon", 1e-3f);
  writer.set("general.some_new_thing", 7.0f).set("tokenizer.chat_template", "x").set("quantize.imatrix.file", "y");
  writer.set("split.no", uint16_t{0}).set("split.count", uint16_t{1}).set("mradermacher.quantized_by", "z");
  writer.set("clip.has_vision_encoder", false).set("qwen3.attention.causal", false).set("llama_extra", 1.0f);
  EXPECT_EQ(config_of(writer), plain);
}

TEST(KnownKeys, of_experts_say_nothing_where_there_are_none) {
  GgufWriter writer = tiny_writer({.architecture = "qwen2"});
  const ModelConfig plain = config_of(writer);
  writer.set("qwen2.expert_count", uint32_t{0}).set("qwen2.expert_used_count", uint32_t{2});
  writer.set("qwen2.expert_weights_norm", true).set("qwen2.expert_weights_scale", 2.5f);
  EXPECT_EQ(config_of(writer), plain);
}

TEST(KnownKeys, with_a_number_for_each_layer_are_that_number_where_all_are_equal) {
  GgufWriter writer = tiny_writer({});
  const ModelConfig plain = config_of(writer);
  const auto twice = [](int64_t value) {
    return std::vector<uint32_t>{static_cast<uint32_t>(value), static_cast<uint32_t>(value)};
  };
  writer.set("llama.attention.head_count_kv", twice(plain.kv_heads)).set("llama.attention.head_count", twice(4));
  writer.set("llama.feed_forward_length", std::vector<int32_t>(2, static_cast<int32_t>(plain.feed_forward)));
  writer.set("llama.rope.freq_base", std::vector<float>(2, plain.rope.base));
  writer.set("llama.logit_scale", std::vector<float>{1, 1}).set("llama.attention.clamp_kqv", std::vector<float>{0, 0});
  writer.set("llama.rope.scaling.type", std::vector<std::string>{"none", "none"});
  EXPECT_EQ(config_of(writer), plain);
  expect_refused(
      {{"counts",
        [](auto& w) {
          w.set("llama.attention.head_count_kv", std::vector<uint32_t>{2, 4});
        },
        "the layers differ: 2 in layer 0, 4 in layer 1"},
       {"numbers",
        [](auto& w) {
          w.set("llama.rope.freq_base", std::vector<float>{1e4f, 1e4f, 1e6f});
        },
        "the layers differ: 10000 in layer 0, 1e+06 in layer 2"},
       {"more numbers than layers", [](auto& w) { w.set("llama.rope.freq_base", std::vector<float>(3, 1e4f)); },
        "found an array of 3, expected one number for each of the 2 layers"},
       {"empty", [](auto& w) { w.set("llama.feed_forward_length", std::vector<uint32_t>{}); }, "found an empty array"},
       {"negative",
        [](auto& w) {
          w.set("llama.feed_forward_length", std::vector<int32_t>{-1, -1});
        },
        "expected 1 to"},
       {"one layer has a cap",
        [](auto& w) {
          w.set("llama.attention.clamp_kqv", std::vector<float>{0, 8});
        },
        "found 8 in layer 1, expected 0"},
       {"every layer has a cap",
        [](auto& w) {
          w.set("llama.attention.clamp_kqv", std::vector<float>{8, 8});
        },
        "found 8, expected 0"},
       {"close numbers",
        [](auto& w) {
          w.set("llama.rope.freq_base", std::vector<float>{1000000, 1000001});
        },
        "the layers differ: 1e+06 in layer 0, 1000001 in layer 1"},
       {"texts",
        [](auto& w) {
          w.set("llama.rope.scaling.type", std::vector<std::string>{"none", "yarn"});
        },
        "the layers differ: none in layer 0, yarn in layer 1"}},
      [] { return tiny_writer({}); });
}

TEST(KnownKeys, of_a_pattern_of_windows_say_what_the_architecture_has) {
  const auto with = [](const std::string& architecture, auto pattern) {
    GgufWriter writer = tiny_writer({.architecture = architecture});
    writer.set(architecture + ".attention.sliding_window", uint32_t{16});
    writer.set(architecture + ".attention.sliding_window_pattern", pattern);
    return config_of(writer);
  };
  EXPECT_EQ(with("gemma2", uint32_t{2}).window, 16);
  EXPECT_EQ(with("gemma2", std::vector<int32_t>{1, 0}).window, 16);
  EXPECT_EQ(with("gemma3", uint32_t{6}).window, 16);
  GgufWriter of_bools = tiny_writer({.architecture = "gemma2"});
  of_bools.set("gemma2.attention.sliding_window", uint32_t{16});
  const auto bools = [&](uint8_t first, uint8_t second) {
    return ByteSink().put<uint32_t>(7).put<uint64_t>(2).put(first).put(second).bytes();
  };
  of_bools.raw("gemma2.attention.sliding_window_pattern", 9, bools(1, 0));
  EXPECT_EQ(config_of(of_bools).window, 16);
  of_bools.raw("gemma2.attention.sliding_window_pattern", 9, bools(0, 1));
  EXPECT_THROW(config_of(of_bools), Error);
  expect_refused({{"bools of layers", [&](auto& w) { w.raw("llama.swin_norm", 9, bools(0, 1)); },
                   "found true in layer 1, expected false"}},
                 [] { return tiny_writer({}); });
  EXPECT_THROW(with("gemma2", uint32_t{6}), Error);
  EXPECT_THROW(with("gemma2", std::vector<int32_t>{0, 1}), Error);
  EXPECT_THROW(with("gemma3", uint32_t{2}), Error);
}

TEST(KnownKeys, a_missing_epsilon_is_named_as_the_architecture_has_it) {
  const auto missing = [](const std::string& architecture) -> std::string {
    GgufWriter writer = tiny_writer({.architecture = architecture});
    writer.remove(architecture + ".attention.layer_norm_rms_epsilon");
    if (architecture == "phimoe")
      writer.set("phimoe.expert_count", uint32_t{4}).set("phimoe.expert_used_count", uint32_t{2});
    try {
      config_of(writer);
      return "was read";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(missing("llama"), HasSubstr("'llama.attention.layer_norm_rms_epsilon'"));
  EXPECT_THAT(missing("phimoe"), HasSubstr("'phimoe.attention.layer_norm_epsilon'"));
}

}  // namespace
}  // namespace tandem
