#include "engine/model/common_keys.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "engine/model/config_keys.h"
#include "engine/model/expert_keys.h"
#include "engine/model/latent_keys.h"
#include "engine/model/limits.h"
#include "engine/model/other_media.h"
#include "engine/model/rope_keys.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 4096;

// Files may leave out the heads' widths. Then the embedding length is divided evenly among the heads.
void read_heads(const ConfigKeys& keys, ModelConfig& config) {
  config.heads = keys.require_size("attention.head_count", kMaxHeads);
  config.kv_heads = keys.size("attention.head_count_kv", kMaxHeads).value_or(config.heads);
  if (config.heads % config.kv_heads != 0) {
    keys.fail("attention.head_count_kv", "found " + std::to_string(config.kv_heads) + ", expected a divisor of the " +
                                             std::to_string(config.heads) + " heads");
  }
  const auto key_length = keys.size("attention.key_length", kMaxHeadDim);
  const auto value_length = keys.size("attention.value_length", kMaxHeadDim);
  // A head's width need not follow from the embedding length, so the length must be divisible only if the file leaves a
  // width out.
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

// The vocabulary's size is a key in some files. In others it follows from the embedding's rows, or from the tokenizer's
// list. Without a tensor for the output the embedding is used again.
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

// A factor. 1, or `otherwise`, if the key is absent or 0.
float factor(const ConfigKeys& keys, const char* key, float otherwise = 1.0f) {
  const double value = keys.number(key).value_or(0.0);
  if (value == 0.0) return otherwise;
  if (!(value > 0.0 && value < 1e6)) keys.fail(key, "found " + std::to_string(value) + ", expected 0 to 1e6");
  return static_cast<float>(value);
}

// A file without these keys leaves the caps to the architecture.
constexpr const char *kAttentionCap = "attn_logit_softcapping", *kLogitCap = "final_logit_softcapping";

// A soft cap; 0 if the key is absent, or states that there is none.
float cap(const ConfigKeys& keys, const char* key) {
  const auto value = keys.number(key);
  if (!value) return 0.0f;
  if (!(*value >= 0.0 && *value < 1e6)) keys.fail(key, "found " + std::to_string(*value) + ", expected 0 to 1e6");
  return static_cast<float>(*value);
}

constexpr const char* kAlibi = "attention.max_alibi_bias";

// 0 if the key is absent.
float alibi(const ConfigKeys& keys) {
  const double most = keys.number(kAlibi).value_or(0.0);
  if (!(most >= 0.0 && most <= 1e3)) keys.fail(kAlibi, "found " + printed(most) + ", expected 0 to 1000");
  return static_cast<float>(most);
}

constexpr const char* kTemperature = "attention.temperature_scale";

// Absent if the key is absent or 0. The architecture says the length.
std::optional<TemperatureConfig> temperature(const ConfigKeys& keys) {
  const double scale = keys.number(kTemperature).value_or(0.0);
  if (!(scale >= 0.0 && scale <= 1e3)) keys.fail(kTemperature, "found " + printed(scale) + ", expected 0 to 1000");
  if (scale == 0.0) return std::nullopt;
  return TemperatureConfig{static_cast<float>(scale), 0};
}

// The key has the number of a kind. Decoder models have it too, if their states are meant to be used.
std::optional<Pooling> pooling(const ConfigKeys& keys) {
  constexpr int64_t kMost = static_cast<int64_t>(Pooling::rank);
  if (!keys.number("pooling_type")) return std::nullopt;
  return static_cast<Pooling>(keys.count("pooling_type", kMost));
}

// Reads the factors that the architecture declares. Other architectures keep the defaults, and require_known_keys()
// refuses a file that states another value.
void read_scales(const ConfigKeys& keys, const std::function<bool(std::string_view)>& is_known, ModelConfig& config) {
  if (is_known("embedding_scale")) config.embedding_scale = factor(keys, "embedding_scale");
  if (is_known("residual_scale")) config.residual_scale = factor(keys, "residual_scale");
  if (is_known("logit_scale")) config.logit_scale = 1.0f / factor(keys, "logit_scale");  // the file stores the divisor
  if (is_known(kAttentionCap)) config.attention_cap = cap(keys, kAttentionCap);
  if (is_known(kLogitCap)) config.logit_cap = cap(keys, kLogitCap);
  if (is_known(kAlibi)) config.alibi = alibi(keys);
  if (is_known(kTemperature)) config.temperature = temperature(keys);
  if (is_known("attention.scale")) config.given_attention_scale = factor(keys, "attention.scale", 0.0f);
}

// Layers behind the model's own draft more tokens from its result. They are counted with the others.
void read_draft_layers(const ConfigKeys& keys, ModelConfig& config) {
  config.draft_layers = keys.count("nextn_predict_layers", kMaxLayers);
  if (config.draft_layers >= config.layers)
    keys.fail("nextn_predict_layers", "found " + std::to_string(config.draft_layers) + ", expected fewer than the " +
                                          std::to_string(config.layers) + " layers");
  config.layers -= config.draft_layers;
}

// The window, and the base of a rotation that only its layers have.
void read_window(const ConfigKeys& keys, ModelConfig& config) {
  const double window = keys.number("attention.sliding_window").value_or(0.0);
  if (window <= 0) return;  // converters write 0 for "none"
  config.window = keys.require_size("attention.sliding_window", kMaxContext);
  if (const auto base = keys.number("rope.freq_base_swa")) {
    config.window_rope = RopeConfig{};
    config.window_rope->base = static_cast<float>(*base);
  }
}

// For an architecture without windows: keeps the smallest window as the longest possible context. require_known_keys()
// refuses one that the trained context needs.
void read_window_beyond(const ConfigKeys& keys, ModelConfig& config) {
  for (const double window : keys.numbers("attention.sliding_window")) {
    if (!(window > 0) || window > kMaxContext) continue;
    const auto positions = static_cast<int64_t>(window);
    config.widest_context = config.widest_context == 0 ? positions : std::min(config.widest_context, positions);
  }
}

// Some files of architectures with LayerNorms have only RMSNorm's key, which states the same number.
constexpr const char *kLayerNorm = "attention.layer_norm_epsilon", *kRmsNorm = "attention.layer_norm_rms_epsilon";

float epsilon(const ConfigKeys& keys, const char* key) {
  const auto value = static_cast<float>(keys.require_number(key));
  if (!(value > 0.0f && value < 1.0f))
    keys.fail(key, "found " + std::to_string(value) + ", expected a value between 0 and 1");
  return value;
}

}  // namespace

// Layers and widths come first, because the other keys' ranges depend on them. An architecture with LayerNorms reads
// LayerNorm's epsilon if the file has it.
ModelConfig read_common_keys(const GgufFile& file, std::span<const char* const> known) {
  const auto is_known = [known](std::string_view key) { return std::ranges::find(known, key) != known.end(); };
  ModelConfig config;
  config.architecture = file.require_string("general.architecture");
  config.name = file.get_string("general.name").value_or(config.architecture);
  config.media_tensors = tensors_of_other_media(file);
  const ConfigKeys keys(file, config.architecture);
  config.layers = keys.require_size("block_count", kMaxLayers);
  if (is_known("nextn_predict_layers")) read_draft_layers(keys, config);
  config.hidden = keys.require_size("embedding_length", kMaxWidth);
  config.feed_forward = keys.require_size("feed_forward_length", kMaxWidth);
  config.context_length = keys.require_size("context_length", kMaxContext);
  // Without either key, the Error of an architecture with LayerNorms names LayerNorm's key.
  const bool has_mean = is_known(kLayerNorm) && (keys.number(kLayerNorm) || !keys.number(kRmsNorm));
  config.norm_eps = epsilon(keys, has_mean ? kLayerNorm : kRmsNorm);
  read_heads(keys, config);
  read_vocabulary(file, keys, config);
  read_rope(file, keys, config);
  read_scales(keys, is_known, config);
  config.pooling = pooling(keys);
  if (is_known("attention.sliding_window"))
    read_window(keys, config);
  else
    read_window_beyond(keys, config);
  if (is_known("expert_count")) read_experts(keys, config);
  read_expert_places(keys, known, config);
  if (is_known("attention.kv_lora_rank")) read_latent(keys, config);
  return config;
}

}  // namespace tandem
