#include "engine/model/architectures/dense.h"

#include <span>
#include <utility>

#include "engine/model/ffn_biases.h"
#include "sync/error.h"

namespace tandem {

namespace {

constexpr const char* kChoiceBias = "exp_probs_b.bias";

std::string choice_bias_name(int64_t layer) { return "blk." + std::to_string(layer) + "." + kChoiceBias; }

int64_t first_layer_with_experts(const ModelConfig& config) {
  int64_t first = 0;
  while (first < config.layers && !config.has_experts(first)) ++first;
  return first;
}

// Replaces the feed-forward network by a mixture of experts. All architectures use these names for its parts.
void add_experts(const ModelConfig& config, const std::string& prefix, LayerSpec& layer) {
  const ExpertsConfig& experts = *config.experts;
  const int64_t H = config.hidden, I = experts.feed_forward, shared = experts.shared_feed_forward;
  layer.router.weights = {{prefix + "ffn_gate_inp.weight", experts.count, H}};
  if (experts.score_bias) layer.router.biases = {{prefix + "ffn_gate_inp.bias", experts.count}};
  if (experts.biases) {
    layer.expert_gate_bias = {prefix + "ffn_gate_exps.bias", I, experts.count};
    layer.expert_up_bias = {prefix + "ffn_up_exps.bias", I, experts.count};
    layer.expert_down_bias = {prefix + "ffn_down_exps.bias", H, experts.count};
  }
  if (experts.choice_bias) layer.router_bias = {prefix + kChoiceBias, experts.count};
  // Most files have one tensor for all experts, NAME_exps.weight. Others have one for each expert, NAME.0.weight and so
  // on, so the prefix is kept too.
  const auto stacked = [&](const std::string& name, int64_t rows, int64_t columns) {
    return StackedSpec{prefix + name + "_exps.weight", rows, columns, prefix + name + "."};
  };
  layer.expert_gate_up = {experts.count, {stacked("ffn_gate", I, H), stacked("ffn_up", I, H)}, true};
  layer.expert_down = {experts.count, {stacked("ffn_down", H, I)}, true};
  if (shared == 0) return;
  // The gate of the shared experts reads the same input as the router, so one group computes both.
  if (experts.shared_gate) layer.router.weights.push_back({prefix + "ffn_gate_inp_shexp.weight", 1, H});
  layer.gate_up.weights = {{prefix + "ffn_gate_shexp.weight", shared, H}, {prefix + "ffn_up_shexp.weight", shared, H}};
  layer.down.weights = {{prefix + "ffn_down_shexp.weight", H, shared}};
}

GroupSpec projections(const ModelConfig& config, const std::string& prefix) {
  const std::pair<const char*, int64_t> joined[] = {{"attn_qkv", config.qkv_width()}};
  const std::pair<const char*, int64_t> separate[] = {
      {"attn_q", config.q_width()}, {"attn_k", config.k_width()}, {"attn_v", config.v_width()}};
  GroupSpec group;
  for (const auto& [name, width] : config.joined_qkv ? std::span(joined, 1) : std::span(separate, 3)) {
    group.weights.push_back({prefix + name + ".weight", width, config.hidden});
    if (config.qkv_bias) group.biases.push_back({prefix + name + ".bias", width});
  }
  return group;
}

}  // namespace

// The tensors of the first layer decide which biases a file has. One bias of q, k or v is enough to list all three.
void read_attention_biases(const GgufFile& file, ModelConfig& config) {
  for (const char* name : {"blk.0.attn_q.bias", "blk.0.attn_k.bias", "blk.0.attn_v.bias", "blk.0.attn_qkv.bias"}) {
    config.qkv_bias = config.qkv_bias || file.find(name) != nullptr;
  }
  config.output_bias = file.find("blk.0.attn_output.bias") != nullptr;
}

void read_biases(const GgufFile& file, ModelConfig& config) {
  config.joined_qkv = file.find("blk.0.attn_qkv.weight") != nullptr;
  read_attention_biases(file, config);
  for (const char* name : {"blk.0.ffn_up.bias", "blk.0.ffn_down.bias"})
    config.ffn_bias = config.ffn_bias || file.find(name) != nullptr;
}

void read_choice_bias(const GgufFile& file, ModelConfig& config) {
  config.experts->choice_bias = file.find(choice_bias_name(first_layer_with_experts(config))) != nullptr;
}

void read_expert_width(const GgufFile& file, ModelConfig& config) {
  ExpertsConfig& experts = *config.experts;
  const std::string prefix = "blk." + std::to_string(first_layer_with_experts(config)) + ".";
  const GgufTensor* up = file.find(prefix + "ffn_up_exps.weight");
  const bool together = up != nullptr && up->shape.size() > 1 && up->shape[1] * experts.used == config.feed_forward;
  if (together && !file.has(config.architecture + ".expert_feed_forward_length")) experts.feed_forward = up->shape[1];
}

void read_head_norms(const GgufFile& file, ModelConfig& config) {
  config.qk_norm = config.qk_norm_each = file.find("blk.0.attn_q_norm.weight") != nullptr;
}

std::vector<bool> all_but_every(int64_t layers, int64_t period) {
  std::vector<bool> has;
  for (int64_t i = 0; i < layers; ++i) has.push_back(i % period != period - 1);
  return has;
}

RopeConfig unscaled(const RopeConfig& rope, float base) {
  RopeConfig plain;
  plain.halves = rope.halves;
  plain.dim = rope.dim;
  plain.base = base;
  return plain;
}

// Lists the tensors of a layer by the names that all converters use. Flags of the configuration add the optional ones.
LayerSpec dense_layer(const ModelConfig& config, int64_t index) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  const int64_t H = config.hidden, I = config.feed_forward;
  const bool whole = config.qk_norm_whole;
  LayerSpec layer;
  if (config.pre_norms) layer.attention_norm = {prefix + "attn_norm.weight", H};
  layer.qkv = projections(config, prefix);
  // A norm covers one head, or all heads together. Its weight has that width. Heads may have weights of their own.
  if (config.qk_norm) {
    const bool each = config.qk_norm_each;
    layer.q_norm = {prefix + "attn_q_norm.weight", whole ? config.q_width() : config.head_dim, each ? config.heads : 1};
    layer.k_norm = {prefix + "attn_k_norm.weight", whole ? config.k_width() : config.head_dim,
                    each ? config.kv_heads : 1};
  }
  if (config.attention_sinks) layer.attention_sinks = {prefix + "attn_sinks.weight", config.heads};
  layer.attention_output.weights = {{prefix + "attn_output.weight", H, config.attended_width()}};
  if (config.output_bias) layer.attention_output.biases = {{prefix + "attn_output.bias", H}};
  if (config.post_norms) {
    layer.attention_post_norm = {prefix + "post_attention_norm.weight", H};
    layer.ffn_post_norm = {prefix + "post_ffw_norm.weight", H};
  }
  const bool has_ffn_norm = config.pre_norms && !config.parallel;
  if (has_ffn_norm) layer.ffn_norm = {prefix + "ffn_norm.weight", H};
  if (config.has_norm_bias()) {
    layer.attention_norm_bias = {prefix + "attn_norm.bias", H};
    if (has_ffn_norm) layer.ffn_norm_bias = {prefix + "ffn_norm.bias", H};
  }
  // Leading layers may be dense although the model has experts.
  if (config.has_experts(index)) {
    add_experts(config, prefix, layer);
    return layer;
  }
  if (config.gated) layer.gate_up.weights = {{prefix + "ffn_gate.weight", I, H}};
  layer.gate_up.weights.push_back({prefix + "ffn_up.weight", I, H});
  layer.down.weights = {{prefix + "ffn_down.weight", H, I}};
  if (config.ffn_bias) {
    if (first_products_have_biases(config)) {
      if (config.gated) layer.gate_up.biases = {{prefix + "ffn_gate.bias", I}};
      layer.gate_up.biases.push_back({prefix + "ffn_up.bias", I});
    }
    layer.down.biases = {{prefix + "ffn_down.bias", H}};
  }
  return layer;
}

}  // namespace tandem
