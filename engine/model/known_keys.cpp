#include "engine/model/known_keys.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/config_keys.h"
#include "engine/model/other_media.h"

namespace tandem {
namespace {

// Keys that read_common_keys() reads for every architecture.
constexpr const char* kRead[] = {"block_count",
                                 "context_length",
                                 "embedding_length",
                                 "feed_forward_length",
                                 "vocab_size",
                                 "attention.head_count",
                                 "attention.head_count_kv",
                                 "attention.key_length",
                                 "attention.value_length",
                                 "attention.layer_norm_rms_epsilon",
                                 "rope.dimension_count",
                                 "rope.freq_base",
                                 "rope.scale_linear",
                                 "rope.scaling.type",
                                 "rope.scaling.factor",
                                 "rope.scaling.attn_factor",
                                 "rope.scaling.original_context_length",
                                 "rope.scaling.yarn_beta_fast",
                                 "rope.scaling.yarn_beta_slow",
                                 "rope.scaling.yarn_ext_factor",
                                 "pooling_type"};

// Keys about how a file was made, or about other uses of the model's hidden states.
constexpr const char* kNoComputation[] = {"attention.layer_norm_epsilon", "classifier.output_labels",
                                          "rope.scaling.finetuned", "tensor_data_layout"};

// Read by architectures that declare the first key of the list. For others, or if that key is 0, the rest
// has no meaning.
constexpr const char* kOfExperts[] = {"expert_count",
                                      "expert_used_count",
                                      "expert_feed_forward_length",
                                      "expert_shared_count",
                                      "expert_shared_feed_forward_length",
                                      "expert_gating_func",
                                      "expert_group_count",
                                      "expert_group_used_count",
                                      "expert_weights_norm",
                                      "expert_weights_scale",
                                      "leading_dense_block_count"};
constexpr const char* kOfLatents[] = {"attention.kv_lora_rank", "attention.key_length_mla",
                                      "attention.value_length_mla"};

// A key whose value may state what is computed anyway. Converters write 0 or false for "none".
struct Known {
  const char* key;
  double (*computed)(const ModelConfig& config);
  bool may_be_none = true;
};

double no_number(const ModelConfig&) { return 0; }
double always_one(const ModelConfig&) { return 1; }
// The key is read for YaRN alone. It states the whole magnitude, or 1 for what the factor implies.
double yarn_magnitude(const ModelConfig& config) {
  const bool is_given = config.rope.scaling == RopeScaling::yarn && !config.rope.yarn_magnitude;
  return is_given ? static_cast<double>(config.rope.attention_factor) : 1.0;
}
double window_base(const ModelConfig& config) { return (config.window_rope ? *config.window_rope : config.rope).base; }
// Two keys state the distance between layers with experts. It is 1 if every layer has experts. All other models have 0,
// because no other regular distance is computed here.
double experts_each(const ModelConfig& config) { return config.experts && config.experts->dense_layers == 0 ? 1 : 0; }

// Each key with the value that this engine computes with, given the configuration.
constexpr Known kComputed[] = {
    {"attention.causal", [](const ModelConfig& config) { return config.sees_all ? 0.0 : 1.0; }, false},
    {"attention.max_alibi_bias", [](const ModelConfig& config) { return static_cast<double>(config.alibi); }},
    {"use_parallel_residual", [](const ModelConfig& config) { return config.parallel ? 1.0 : 0.0; }, false},
    {"attention.scale", [](const ModelConfig& config) { return static_cast<double>(config.attention_scale()); }},
    {"attention.output_scale", always_one},
    {"attention.key_length_swa", [](const ModelConfig& config) { return static_cast<double>(config.head_dim); }},
    {"attention.value_length_swa", [](const ModelConfig& config) { return static_cast<double>(config.head_dim_v); }},
    {"attn_logit_softcapping", [](const ModelConfig& config) { return static_cast<double>(config.attention_cap); }},
    {"final_logit_softcapping", [](const ModelConfig& config) { return static_cast<double>(config.logit_cap); }},
    {"embedding_scale", [](const ModelConfig& config) { return static_cast<double>(config.embedding_scale); }},
    {"residual_scale", [](const ModelConfig& config) { return static_cast<double>(config.residual_scale); }},
    {"logit_scale", [](const ModelConfig& config) { return 1 / static_cast<double>(config.logit_scale); }},
    {"embedding_length_out", [](const ModelConfig& config) { return static_cast<double>(config.hidden); }},
    {"rope.dimension_count_swa", [](const ModelConfig& config) { return static_cast<double>(config.rope.dim); }},
    {"rope.freq_base_swa", window_base},
    {"rope.local.freq_base", window_base},
    {"rope.global.freq_base", [](const ModelConfig& config) { return static_cast<double>(config.rope.base); }},
    {"rope.scaling.alpha", always_one},
    {"rope.scaling.yarn_attn_factor", yarn_magnitude},
    {"expert_group_scale", always_one},
    {"moe_every_n_layers", experts_each},
    {"interleave_moe_layer_step", experts_each},
};

// Keys of computations that no architecture here has. Only 0 is accepted.
constexpr const char* kNotComputed[] = {"activation_sparsity_scale",
                                        "attention.clamp_kqv",
                                        "attention.group_norm_groups",
                                        "attention.indexer.head_count",
                                        "attention.indexer.key_length",
                                        "attention.indexer.top_k",
                                        "attention.q_lora_rank",
                                        "attention.relative_buckets_count",
                                        "attention.shared_kv_layers",
                                        "attention.temperature_length",
                                        "attention.temperature_scale",
                                        "embedding_length_per_layer_input",
                                        "expert_chunk_feed_forward_length",
                                        "experts_per_group",
                                        "features_length",
                                        "full_attention_interval",
                                        "moe_latent_size",
                                        "n_deepstack_layers",
                                        "nextn_predict_layers",
                                        "no_rope_layer_interval",
                                        "rescale_every_n_layers",
                                        "rope.dimension_sections",
                                        "rope.scaling.yarn_log_multiplier",
                                        "router_logit_softcapping",
                                        "swiglu_clamp_exp",
                                        "swiglu_clamp_shexp",
                                        "swin_norm",
                                        "token_shift_count"};

bool is_among(std::span<const char* const> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// " in layer 2" if the key's values differ between layers, else "". NaN counts as equal to NaN.
std::string in_layer(const std::vector<double>& values, size_t layer) {
  const auto is_first = [&](double value) {
    return value == values.front() || (std::isnan(value) && std::isnan(values.front()));
  };
  return std::ranges::all_of(values, is_first) ? "" : " in layer " + std::to_string(layer);
}

// Checks one key after the other. The lists are searched from "always fine" to "only with one value".
class KnownKeys {
 public:
  KnownKeys(const GgufFile& file, const ModelConfig& config, std::span<const char* const> declared)
      : config_(config), declared_(declared), keys_(file, config.architecture) {}

  void require(const std::string& key) const {
    if (is_among(kRead, key) || is_among(declared_, key) || is_among(kNoComputation, key)) return;
    if (is_key_of_other_media(key)) return;
    if (is_among(kOfExperts, key)) return require_no_experts();
    if (is_among(kOfLatents, key) && is_declared(kOfLatents[0])) return;
    if (key == "attention.sliding_window") return require_wide_window(key);
    if (key == "attention.sliding_window_pattern") return require_pattern(key);
    for (const Known& known : kComputed)
      if (key == known.key) return require_value(key, known.computed(config_), known.may_be_none);
    if (is_among(kNotComputed, key) || is_among(kOfLatents, key)) return require_value(key, no_number(config_), true);
    keys_.fail(key.c_str(), "the key is not known, and may change what the model computes",
               "use a model without it; docs/models.md lists the keys that are known");
  }

 private:
  bool is_declared(const char* key) const { return is_among(declared_, key); }

  // A key has one value, or one for each layer. Every value must be the computed one, or none if the key may be none.
  void require_value(const std::string& key, double computed, bool may_be_none) const {
    const std::vector<double> values = keys_.numbers(key.c_str());
    for (size_t layer = 0; layer < values.size(); ++layer) {
      const double value = values[layer];
      // Equal within a relative tolerance of 1e-5.
      if (std::abs(value - computed) <= 1e-5 * std::abs(computed) || (may_be_none && value == 0)) continue;
      keys_.fail(key.c_str(),
                 "this variant of the architecture is not supported: found " + keys_.shown(key.c_str(), value) +
                     in_layer(values, layer) + ", expected " + keys_.shown(key.c_str(), computed) +
                     (may_be_none && computed != 0 ? ", or " + keys_.shown(key.c_str(), 0) + " for none" : ""),
                 "use a model without it");
    }
  }

  // Keys about experts have no effect without experts. So the file must state that there are none, or no number at all.
  void require_no_experts() const {
    if (is_declared(kOfExperts[0])) return;
    require_value(kOfExperts[0], 0, true);
  }

  // Attention to all positions gives the result of a window that is at least as long as the trained context.
  void require_wide_window(const std::string& key) const {
    const std::vector<double> windows = keys_.numbers(key.c_str());
    for (size_t layer = 0; layer < windows.size(); ++layer) {
      const bool is_wide = windows[layer] <= 0 || windows[layer] >= static_cast<double>(config_.context_length);
      if (!is_wide)  // NaN is refused
        keys_.fail(key.c_str(), "attention to a window of the context is not supported: found " +
                                    keys_.shown(key.c_str(), windows[layer]) + in_layer(windows, layer));
    }
  }

  // One number n: of every n layers, all but the last have the window. Several numbers: each tells whether its
  // layer has it. No number, or 0: every layer has the window.
  void require_pattern(const std::string& key) const {
    if (config_.window == 0) return;
    const std::vector<double> pattern = keys_.numbers(key.c_str());
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      const auto period = static_cast<int64_t>(pattern.empty() ? 0 : pattern.front());
      const bool has_window = pattern.size() > 1 ? pattern[static_cast<size_t>(layer) % pattern.size()] != 0
                                                 : period == 0 || layer % period < period - 1;
      if (has_window != (config_.window_of(layer) > 0))
        keys_.fail(key.c_str(), "other layers attend to a window than in this architecture, the first is layer " +
                                    std::to_string(layer));
    }
  }

  const ModelConfig& config_;
  std::span<const char* const> declared_;
  ConfigKeys keys_;
};

}  // namespace

// Only keys with the architecture's prefix can change what is computed. Keys of the tokenizer and general ones are
// not checked.
void require_known_keys(const GgufFile& file, const ModelConfig& config, std::span<const char* const> declared) {
  const KnownKeys known(file, config, declared);
  const std::string prefix = config.architecture + ".";
  for (const std::string& key : file.keys())
    if (key.starts_with(prefix)) known.require(key.substr(prefix.size()));
}

}  // namespace tandem
