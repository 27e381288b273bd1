// Random models of architectures without golden files from elsewhere.
#pragma once

#include <fstream>
#include <functional>
#include <span>
#include <string>

#include "engine/model/random_model.h"
#include "engine/model/shapes.h"
#include "tests/support/scratch_folder.h"

namespace tandem::testing {

struct MadeModel {
  const char* name;
  const char* shape;
  std::function<void(ModelConfig&)> change;

  // The path of the model's file, which is made once.
  std::string file(StorageType type = StorageType::f32) const {
    static const ScratchFolder folder;
    const std::string path = folder.file(std::string(name) + "-" + info(type).name + ".gguf");
    if (std::ifstream(path)) return path;
    ModelConfig config = parse_shape(shape, name);
    change(config);
    std::ofstream out(path, std::ios::binary);
    RandomModel(config, type, 7).write([&](std::span<const std::byte> bytes) {
      out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    });
    return path;
  }
};

// Seven layers cut off the last period of Gemma's windows. The windows begin to exclude positions in the middle of the
// text, one of them within the first tile of queries.
inline std::span<const MadeModel> made_models() {
  static const MadeModel kModels[] = {
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
      {"bailingmoe",
       R"({"schema": 1, "architecture": "bailingmoe", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "experts": 6, "experts_used": 2, "expert_feed_forward": 48, "shared_feed_forward": 80})",
       [](ModelConfig& config) {
         config.experts->normalised = true;
         config.experts->scale = 2.5f;
       }},
      {"ernie4_5",
       R"({"schema": 1, "architecture": "ernie4_5", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "head_dim": 24})",
       [](ModelConfig&) {}},
      {"exaone",
       R"({"schema": 1, "architecture": "exaone", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig&) {}},
      {"exaone4",
       R"({"schema": 1, "architecture": "exaone4", "layers": 5, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "sliding_window": 5})",
       [](ModelConfig&) {}},
      {"exaone4-small",
       R"({"schema": 1, "architecture": "exaone4", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig&) {}},
      {"gemma",
       R"({"schema": 1, "architecture": "gemma", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "head_dim": 24, "tied_output": true})",
       [](ModelConfig&) {}},
      {"glm4",
       R"({"schema": 1, "architecture": "glm4", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "qkv_bias": true})",
       [](ModelConfig& config) { config.rope.dim = 8; }},
      {"granitemoe",
       R"({"schema": 1, "architecture": "granitemoe", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "experts": 6, "experts_used": 2, "expert_feed_forward": 48})",
       [](ModelConfig& config) {
         config.embedding_scale = 12;
         config.residual_scale = 0.22f;
         config.given_attention_scale = 0.1f;
         config.logit_scale = 1 / 3.0f;
       }},
      {"hunyuan-dense",
       R"({"schema": 1, "architecture": "hunyuan-dense", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig&) {}},
      {"hunyuan-moe",
       R"({"schema": 1, "architecture": "hunyuan-moe", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "experts": 6, "experts_used": 2, "expert_feed_forward": 48, "shared_feed_forward": 80})",
       [](ModelConfig&) {}},
      {"ernie4_5-moe",
       R"({"schema": 1, "architecture": "ernie4_5-moe", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "experts": 5, "experts_used": 2, "expert_feed_forward": 56,
         "shared_feed_forward": 80, "dense_layers": 1, "expert_bias": true})",
       [](ModelConfig&) {}},
      {"glm4moe",
       R"({"schema": 1, "architecture": "glm4moe", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "qkv_bias": true, "qk_norm": true, "experts": 8,
         "experts_used": 3, "expert_feed_forward": 48, "shared_feed_forward": 48, "dense_layers": 1, "expert_bias": true,
         "expert_groups": 4, "expert_groups_used": 2, "expert_scale": 2.5})",
       [](ModelConfig& config) { config.rope.dim = 8; }},
      {"deepseek-v2",
       R"({"schema": 1, "architecture": "deepseek2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "vocabulary": 300, "context_length": 256, "experts": 8, "experts_used": 3, "expert_feed_forward": 48,
         "shared_feed_forward": 96, "dense_layers": 1, "expert_groups": 4, "expert_groups_used": 2, "expert_scale": 1.5,
         "kv_lora_rank": 32, "nope_dim": 16, "rope_dim": 8, "value_dim": 24, "q_lora_rank": 40})",
       [](ModelConfig&) {}},
      {"deepseek-v3",
       R"({"schema": 1, "architecture": "deepseek2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "vocabulary": 300, "context_length": 256, "experts": 8, "experts_used": 3, "expert_feed_forward": 48,
         "shared_feed_forward": 48, "dense_layers": 1, "expert_groups": 4, "expert_groups_used": 2, "expert_scale": 2.5,
         "expert_sigmoid": true, "expert_bias": true, "expert_norm": true,
         "kv_lora_rank": 32, "nope_dim": 16, "rope_dim": 8, "value_dim": 24, "q_lora_rank": 48})",
       [](ModelConfig&) {}},
      {"gpt-oss",
       R"({"schema": 1, "architecture": "gpt-oss", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "head_dim": 24, "vocabulary": 300, "context_length": 256, "sliding_window": 7,
         "experts": 6, "experts_used": 2, "expert_feed_forward": 48})",
       [](ModelConfig& config) {
         config.rope.scaling = RopeScaling::yarn;
         config.rope.scale_factor = 8;
         config.rope.original_context = 32;
       }},
      {"llama4",
       R"({"schema": 1, "architecture": "llama4", "layers": 5, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "head_dim": 24, "vocabulary": 300, "context_length": 256, "sliding_window": 7, "experts": 6,
         "experts_used": 1, "expert_feed_forward": 48, "expert_step": 2})",
       [](ModelConfig& config) {
         config.temperature = TemperatureConfig{0.7f, 9, true};
       }},
      {"minicpm",
       R"({"schema": 1, "architecture": "minicpm", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig& config) {
         config.embedding_scale = 12;
         config.residual_scale = 0.22f;
         config.logit_scale = 1 / 3.0f;
       }},
      {"olmo2",
       R"({"schema": 1, "architecture": "olmo2", "layers": 5, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "sliding_window": 5})",
       [](ModelConfig& config) {
         config.rope.scaling = RopeScaling::linear;
         config.rope.scale_factor = 8;
       }},
      {"olmo2-small",
       R"({"schema": 1, "architecture": "olmo2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig&) {}},
      {"qwen2vl",
       R"({"schema": 1, "architecture": "qwen2vl", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "qkv_bias": true})",
       [](ModelConfig&) {}},
      {"qwen3vl",
       R"({"schema": 1, "architecture": "qwen3vl", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "head_dim": 24})",
       [](ModelConfig&) {}},
      {"qwen3vlmoe",
       R"({"schema": 1, "architecture": "qwen3vlmoe", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "head_dim": 24, "experts": 6, "experts_used": 2,
         "expert_feed_forward": 48})",
       [](ModelConfig&) {}},
      {"seed_oss",
       R"({"schema": 1, "architecture": "seed_oss", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "head_dim": 24, "qkv_bias": true})",
       [](ModelConfig&) {}},
      {"smollm3",
       R"({"schema": 1, "architecture": "smollm3", "layers": 5, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig&) {}},
      {"stablelm",
       R"({"schema": 1, "architecture": "stablelm", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "qkv_bias": true})",
       [](ModelConfig& config) { config.rope.dim = 8; }},
      {"stablelm-12b",
       R"({"schema": 1, "architecture": "stablelm", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "rotated": 4, "qk_norm": true})",
       [](ModelConfig&) {}},
      {"arcee",
       R"({"schema": 1, "architecture": "arcee", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig&) {}},
      {"nemotron",
       R"({"schema": 1, "architecture": "nemotron", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig& config) { config.rope.dim = 8; }},
      {"starcoder2",
       R"({"schema": 1, "architecture": "starcoder2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "sliding_window": 7, "tied_output": true})",
       [](ModelConfig&) {}},
      {"phi2",
       R"({"schema": 1, "architecture": "phi2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 4, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig& config) { config.rope.dim = 8; }},
      {"phi2-joined",
       R"({"schema": 1, "architecture": "phi2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 4, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig& config) {
         config.rope.dim = 6;
         config.joined_qkv = true;
       }},
      {"command-r",
       R"({"schema": 1, "architecture": "command-r", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "tied_output": true})",
       [](ModelConfig& config) { config.logit_scale = 0.3f; }},
      {"command-r-plus",
       R"({"schema": 1, "architecture": "command-r", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "tied_output": true, "qk_norm": true})",
       [](ModelConfig& config) { config.logit_scale = 0.3f; }},
      {"cohere2",
       R"({"schema": 1, "architecture": "cohere2", "layers": 5, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "sliding_window": 7, "tied_output": true})",
       [](ModelConfig& config) { config.logit_scale = 0.25f; }},
      {"mistral3",
       R"({"schema": 1, "architecture": "mistral3", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "head_dim": 24})",
       [](ModelConfig& config) {
         config.rope.scaling = RopeScaling::yarn;
         config.rope.scale_factor = 8;
         config.rope.original_context = 16;
         config.rope.yarn_log_multiplier = 0.5f;
         config.temperature = TemperatureConfig{0.7f, 16};
       }},
      {"phi4-mini",
       R"({"schema": 1, "architecture": "phi3", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256, "rotated": 12, "tied_output": true})",
       [](ModelConfig& config) {
         config.rope.original_context = 32;
         config.rope.attention_factor = 1.2f;
         config.rope.frequency_factors = {1, 1.1f, 1.2f, 1.3f, 1.4f, 1.5f};
         config.rope.long_factors = {1, 2, 3, 5, 8, 13};
       }},
      {"youtu",
       R"({"schema": 1, "architecture": "deepseek2", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 4, "vocabulary": 300, "context_length": 256, "tied_output": true, "kv_lora_rank": 32,
         "nope_dim": 16, "rope_dim": 8, "value_dim": 24, "q_lora_rank": 48})",
       [](ModelConfig&) {}},
      {"granite-biases",
       R"({"schema": 1, "architecture": "granite", "layers": 3, "hidden": 64, "feed_forward": 96, "heads": 4,
         "kv_heads": 2, "vocabulary": 300, "context_length": 256})",
       [](ModelConfig& config) {
         config.given_attention_scale = 0.1f;
         config.qkv_bias = config.output_bias = config.ffn_bias = true;
       }},
  };
  return kModels;
}

}  // namespace tandem::testing
