// DeepSeek-V2, V3 and R1: latent attention, and experts as in DeepSeek-MoE. In V3 a bias enters the choice of experts,
// which lie in groups. All but V2-Lite compute queries from latents of their own. The rotation pairs neighbouring
// values. YaRN's magnitude applies to the attention scores instead of cos and sin. One model of this architecture,
// Youtu-LLM, has no experts.
// Files store the matrices that turn a latent into keys and values in one of two ways. Either one tensor has both, head
// by head. Or there are two tensors: one for the keys, transposed, and one for the values.
#include <cmath>

#include "engine/model/architectures/dense.h"

namespace tandem {
namespace {

constexpr const char* kKeys[] = {"expert_count", "attention.kv_lora_rank", "attention.q_lora_rank",
                                 "rope.scaling.yarn_log_multiplier", "expert_group_count"};

// The attention scale belongs to the heads' own width, not to what the cache keeps. YaRN's magnitude enters it squared.
void describe(ModelConfig& config) {
  config.rope.halves = false;
  config.rope.yarn_magnitude = false;
  const bool yarn = config.rope.scaling == RopeScaling::yarn && config.rope.scale_factor > 1.0f;
  const float m = yarn ? 1.0f + config.rope.yarn_log_multiplier * std::log(config.rope.scale_factor) : 1.0f;
  config.given_attention_scale = m * m / std::sqrt(static_cast<float>(config.latent->nope + config.latent->rope));
}

// A dense layer's lists, with the first projection and the two stacks of latent attention in place. In the joint tensor
// each head has nope rows for keys (transposed), then value rows.
LayerSpec layer(const ModelConfig& config, int64_t index) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  const LatentConfig& latent = *config.latent;
  LayerSpec layer = dense_layer(config, index);
  layer.qkv.weights = {{prefix + "attn_q.weight", config.query_width(), config.hidden},
                       {prefix + "attn_kv_a_mqa.weight", config.head_dim, config.hidden}};
  if (latent.query_rank > 0) {
    layer.qkv.weights[0] = {prefix + "attn_q_a.weight", latent.query_rank, config.hidden};
    layer.query_norm = {prefix + "attn_q_a_norm.weight", latent.query_rank};
    layer.query_up.weights = {{prefix + "attn_q_b.weight", config.query_width(), latent.query_rank}};
  }
  layer.latent_norm = {prefix + "attn_kv_a_norm.weight", latent.rank};
  StackedSpec key{prefix + "attn_kv_b.weight", latent.rank, latent.nope};
  StackedSpec value{prefix + "attn_kv_b.weight", latent.value, latent.rank};
  if (latent.apart) {
    key.name = prefix + "attn_k_b.weight";
    value.name = prefix + "attn_v_b.weight";
  } else {
    key.pitch = value.pitch = latent.nope + latent.value;
    key.transposed = true;
    value.rows_begin = latent.nope;
  }
  layer.key_up = {config.heads, {key}};
  layer.value_up = {config.heads, {value}};
  return layer;
}

// Which of the two ways the file uses.
void read(const GgufFile& file, ModelConfig& config) {
  config.latent->apart = file.find("blk.0.attn_kv_b.weight") == nullptr;
}

}  // namespace

extern const Architecture deepseek2_architecture;
const Architecture deepseek2_architecture = {.name = "deepseek2",
                                             .keys = kKeys,
                                             .describe = describe,
                                             .layer = layer,
                                             .read = read,
                                             .has_latent = true,
                                             .may_have_choice_bias = true};

}  // namespace tandem
