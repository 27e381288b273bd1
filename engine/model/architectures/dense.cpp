#include "engine/model/architectures/dense.h"

#include <cmath>

#include "engine/model/config_keys.h"
#include "sync/error.h"

namespace tandem {
namespace {

// Upper bounds far above any published model. They keep products of two dimensions inside 64 bits and refuse a damaged
// file before anything is allocated for it.
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 4096;
constexpr int64_t kMaxVocabulary = int64_t{1} << 24;
constexpr int64_t kMaxContext = int64_t{1} << 30;

void read_heads(const ConfigKeys& keys, ModelConfig& config) {
  config.heads = keys.require_size("attention.head_count", kMaxHeads);
  config.kv_heads = keys.size("attention.head_count_kv", kMaxHeads).value_or(config.heads);
  if (config.heads % config.kv_heads != 0) {
    keys.fail("attention.head_count_kv", "found " + std::to_string(config.kv_heads) + ", expected a divisor of the " +
                                             std::to_string(config.heads) + " heads");
  }
  const auto key_length = keys.size("attention.key_length", kMaxHeadDim);
  const auto value_length = keys.size("attention.value_length", kMaxHeadDim);
  const bool divides = config.hidden % config.heads == 0;
  if (!divides && !(key_length && value_length)) {
    keys.fail("attention.head_count", "found " + std::to_string(config.heads) +
                                          ", expected a divisor of the embedding length " +
                                          std::to_string(config.hidden));
  }
  config.head_dim = key_length.value_or(config.hidden / config.heads);
  config.head_dim_v = value_length.value_or(config.hidden / config.heads);
  if (config.head_dim > kMaxHeadDim) {
    keys.fail("attention.head_count", "heads of " + std::to_string(config.head_dim) + " values, expected at most " +
                                          std::to_string(kMaxHeadDim));
  }
}

void read_vocabulary(const GgufFile& file, const ConfigKeys& keys, ModelConfig& config) {
  const GgufTensor* embedding = file.find("token_embd.weight");
  const auto tokens = file.array_length("tokenizer.ggml.tokens");
  if (const auto size = keys.size("vocab_size", kMaxVocabulary)) {
    config.vocabulary = *size;
  } else if (embedding != nullptr && embedding->shape.size() >= 2) {
    config.vocabulary = embedding->shape[1];
  } else if (tokens && *tokens <= static_cast<uint64_t>(kMaxVocabulary)) {
    config.vocabulary = static_cast<int64_t>(*tokens);
  }
  if (config.vocabulary < 1 || config.vocabulary > kMaxVocabulary) {
    keys.fail("vocab_size", "a vocabulary of " + std::to_string(config.vocabulary) + " tokens, expected 1 to " +
                                std::to_string(kMaxVocabulary));
  }
  config.tied_output = file.find("output.weight") == nullptr;
}

// A file that uses one of these computes something that the dense graph does not.
void refuse_unknown_computations(const ConfigKeys& keys, const ModelConfig& config) {
  for (const char* key :
       {"expert_count", "attention.clamp_kqv", "attention.max_alibi_bias", "attention.scale", "logit_scale",
        "residual_scale", "embedding_scale", "attn_logit_softcapping", "final_logit_softcapping"}) {
    if (keys.number(key).value_or(0.0) != 0.0) {
      keys.fail(key, "this variant of the architecture is not supported", "use a dense model without it");
    }
  }
  const double window = keys.number("attention.sliding_window").value_or(0.0);
  if (window > 0 && window < static_cast<double>(config.context_length)) {
    keys.fail("attention.sliding_window", "attention to a window of the context is not supported");
  }
}

}  // namespace

ModelConfig read_dense(const GgufFile& file) {
  ModelConfig config;
  config.architecture = file.require_string("general.architecture");
  config.name = file.get_string("general.name").value_or(config.architecture);
  const ConfigKeys keys(file, config.architecture);
  config.layers = keys.require_size("block_count", kMaxLayers);
  config.hidden = keys.require_size("embedding_length", kMaxWidth);
  config.feed_forward = keys.require_size("feed_forward_length", kMaxWidth);
  config.context_length = keys.require_size("context_length", kMaxContext);
  config.norm_eps = static_cast<float>(keys.require_number("attention.layer_norm_rms_epsilon"));
  if (!(config.norm_eps > 0.0f && config.norm_eps < 1.0f)) {
    keys.fail("attention.layer_norm_rms_epsilon",
              "found " + std::to_string(config.norm_eps) + ", expected a value between 0 and 1");
  }
  read_heads(keys, config);
  read_vocabulary(file, keys, config);
  read_rope(keys, config);
  refuse_unknown_computations(keys, config);
  return config;
}

void read_attention_biases(const GgufFile& file, ModelConfig& config) {
  for (const char* name : {"blk.0.attn_q.bias", "blk.0.attn_k.bias", "blk.0.attn_v.bias"}) {
    config.qkv_bias = config.qkv_bias || file.find(name) != nullptr;
  }
  config.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
}

LayerSpec dense_layer(const ModelConfig& config, int64_t index) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  const int64_t H = config.hidden, I = config.feed_forward;
  LayerSpec layer;
  layer.attention_norm = {prefix + "attn_norm.weight", H};
  layer.qkv.weights = {{prefix + "attn_q.weight", config.q_width(), H},
                       {prefix + "attn_k.weight", config.k_width(), H},
                       {prefix + "attn_v.weight", config.v_width(), H}};
  if (config.qkv_bias) {
    layer.qkv.biases = {{prefix + "attn_q.bias", config.q_width()},
                        {prefix + "attn_k.bias", config.k_width()},
                        {prefix + "attn_v.bias", config.v_width()}};
  }
  if (config.qk_norm) {
    layer.q_norm = {prefix + "attn_q_norm.weight", config.head_dim};
    layer.k_norm = {prefix + "attn_k_norm.weight", config.head_dim};
  }
  layer.attention_output.weights = {{prefix + "attn_output.weight", H, config.heads * config.head_dim_v}};
  if (config.output_bias) layer.attention_output.biases = {{prefix + "attn_output.bias", H}};
  layer.ffn_norm = {prefix + "ffn_norm.weight", H};
  layer.gate_up.weights = {{prefix + "ffn_gate.weight", I, H}, {prefix + "ffn_up.weight", I, H}};
  layer.down.weights = {{prefix + "ffn_down.weight", H, I}};
  return layer;
}

}  // namespace tandem
