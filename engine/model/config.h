// The shapes and constants of a decoder model. Graph, planner and model clock need nothing else; a model of shapes only
// consists of this.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/tensor/activation.h"
#include "engine/tensor/routing.h"
#include "tandem/types.h"

namespace tandem {

enum class RopeScaling : uint8_t { none, linear, yarn, frequency_factors };

// How RoPE rotates q and k by their position.
struct RopeConfig {
  bool halves = false;  // rotates pairs (i, i + dim / 2); false: pairs of neighbours
  int64_t dim = 0;      // how many of each head's first values are rotated; 0: none
  float base = 10000.0f;
  RopeScaling scaling = RopeScaling::none;
  float scale_factor = 1.0f;
  int64_t original_context = 0;
  float attention_factor = 1.0f;
  float yarn_beta_fast = 32.0f, yarn_beta_slow = 1.0f;
  bool yarn_magnitude = true;            // YaRN's factor 0.1 ln(s) + 1 applies to cos and sin
  bool yarn_whole_pairs = true;          // the ends of YaRN's ramp are rounded outwards to whole pairs
  float yarn_log_multiplier = 0.0f;      // some models instead multiply the scores by (1 + this * ln(s))^2
  float yarn_divisor = 0.0f;             // some models divide YaRN's factor by 0.1 * this * ln(s) + 1
  std::vector<float> frequency_factors;  // [dim / 2] or empty
  std::vector<float> long_factors;       // used above original_context positions; empty: frequency_factors
  bool operator==(const RopeConfig&) const = default;
};

// Attention's temperature: queries are multiplied by 1 + scale * ln(1 + floor(position / length)).
struct TemperatureConfig {
  float scale = 0.0f;
  int64_t length = 0;
  bool unrotated = false;  // of layers without a rotation, and positions count from 1; else of rotated layers, from 0
  bool operator==(const TemperatureConfig&) const = default;
};

// A mixture of experts that replaces a feed-forward network.
struct ExpertsConfig {
  int64_t count = 0, used = 0;      // E, k
  int64_t feed_forward = 0;         // I of each expert
  int64_t shared_feed_forward = 0;  // I of the shared experts, which every token uses; 0: none
  bool shared_gate = false;         // their result is multiplied by a sigmoid
  int64_t dense_layers = 0;         // so many first layers have a feed-forward network instead
  int64_t step = 1;                 // of the others every so many layers has experts, the last one of each period
  bool score_bias = false;          // a bias of the router's scores
  bool scales_input = false;        // a token's weight multiplies its expert's input, not the result; used == 1
  bool biases = false;              // of each expert's products
  bool choice_bias = false;         // a bias for each expert, which decides choices and enters no weight
  // Experts lie in groups. A token chooses among the experts of its best groups (DeepSeek-AI 2024, arXiv:2412.19437).
  int64_t groups = 1, groups_used = 1;
  Gating gating = Gating::softmax;
  bool normalised = false;  // a token's weights are scaled to add up to 1
  float scale = 1.0f;       // on the weights
  bool operator==(const ExpertsConfig&) const = default;
};

// Multi-head latent attention (DeepSeek-AI 2024, arXiv:2405.04434). Keys and values of all heads are computed from one
// latent of `rank` values and a rotated key of `rope` values that the heads share. The cache keeps just these: one
// head of rank + rope values, whose first `rank` are its value. Queries are transformed into the latent space; keys
// stay latents.
struct LatentConfig {
  int64_t rank = 0;
  int64_t nope = 0, rope = 0;  // values of a query without and with rotation
  int64_t value = 0;           // values of a head's value
  bool apart = false;          // the file has separate tensors for the matrices of keys and of values
  int64_t query_rank = 0;      // queries come from a latent of their own, of so many values; 0: from the input
  bool operator==(const LatentConfig&) const = default;
};

struct ModelConfig {
  std::string architecture;  // "llama"
  std::string name;
  int64_t layers = 0;
  int64_t draft_layers = 0;   // layers of the file behind these, which draft more tokens; not computed
  int64_t media_tensors = 0;  // tensors of the file that read pictures or sound; not computed
  int64_t hidden = 0;         // H
  int64_t feed_forward = 0;   // I
  int64_t heads = 0, kv_heads = 0;
  int64_t head_dim = 0;  // of keys and queries
  int64_t head_dim_v = 0;
  int64_t vocabulary = 0;
  int64_t context_length = 0;  // trained
  float norm_eps = 1e-5f;
  RopeConfig rope;
  // Attention to a window: a token sees the last `window` positions, itself included.
  int64_t window = 0;                            // 0: no layer has one
  std::vector<bool> has_window;                  // [layers]; empty: if there is a window, all layers have it
  std::optional<RopeConfig> window_rope;         // rotation of the layers with a window, if it differs
  std::vector<bool> has_rope;                    // [layers]; empty: if there is a rotation, all layers have it
  std::optional<TemperatureConfig> temperature;  // where heads are rotated, they are rotated as a whole
  // Encoders: tokens see all tokens of their text, also later ones. There are no logits.
  bool sees_all = false;
  std::optional<Pooling> pooling;  // that the file names
  float alibi = 0.0f;              // the largest exponent of ALiBi's slopes (Press et al. 2021); 0: none
  bool window_is_chunk = false;    // a token sees the positions of its chunk of `window` positions instead
  int64_t widest_context = 0;      // a longer context needs a window, which is not computed; 0: no limit
  // Parts of a layer.
  bool qkv_bias = false;
  bool attention_sinks = false;  // each head has a score that takes weight from the others and has no value
  bool output_bias = false;      // of attention's output
  bool logits_bias = false;
  bool ffn_bias = false;       // of the feed-forward network's products; in gated encoders of the last one
  bool joined_qkv = false;     // one tensor of the file has q, k and v
  bool qk_norm = false;        // RMSNorm per head on q and k
  bool qk_norm_whole = false;  // one norm over all heads together instead
  bool qk_norm_last = false;   // behind the rotation
  bool qk_norm_each = false;   // LayerNorms without biases instead, and each head has weights of its own
  bool unit_qk_norm = false;   // rotated heads of q and k are normed without weights, behind the rotation
  bool layer_norm = false;     // LayerNorm instead of RMSNorm, outside of heads
  bool norm_bias = true;       // LayerNorms have a bias
  bool pre_norms = true;       // a norm on what a block reads of the residual stream
  bool post_norms = false;     // RMSNorm on what a block adds to the residual stream
  bool sum_norms = false;      // a norm on each sum of the residual stream and a block's result, and on the embeddings
  int64_t position_rows = 0;   // positions with an embedding of their own, which is added to the token's; 0: none
  int64_t token_types = 0;     // types of tokens, whose embeddings are added; all tokens have the first one; 0: none
  bool parallel = false;       // the feed-forward network reads attention's norm, and both are added to the stream
  std::optional<ExpertsConfig> experts;
  std::optional<LatentConfig> latent;  // then kv_heads, head_dim and head_dim_v describe what the cache keeps
  Activation activation = Activation::silu;
  bool gated = true;  // the feed-forward network multiplies activation(gate) by a second product, up
  bool tied_output = false;
  // Factors: on the embeddings, on what a block adds to the residual stream, on the logits.
  float embedding_scale = 1.0f, residual_scale = 1.0f, logit_scale = 1.0f;
  float given_attention_scale = 0.0f;  // 0: 1 / sqrt(head_dim)
  // Soft caps on attention's scores and on the logits: x becomes cap * tanh(x / cap). 0: none.
  float attention_cap = 0.0f, logit_cap = 0.0f;

  // Factor on the scores before the softmax.
  float attention_scale() const {
    return given_attention_scale != 0.0f ? given_attention_scale : 1.0f / std::sqrt(static_cast<float>(head_dim));
  }
  // Number of positions that a token of the layer sees at most; 0: all.
  int64_t window_of(int64_t layer) const {
    return has_window.empty() || has_window[static_cast<size_t>(layer)] ? window : 0;
  }
  bool rotates(int64_t layer) const {
    return rope.dim > 0 && (has_rope.empty() || has_rope[static_cast<size_t>(layer)]);
  }
  // Whether a temperature of rotated layers changes anything within so many positions.
  bool has_temperature(int64_t positions) const {
    return temperature && !temperature->unrotated && positions > temperature->length;
  }
  bool has_unrotated_temperature() const { return temperature && temperature->unrotated; }
  bool has_norm_bias() const { return layer_norm && norm_bias; }
  bool has_experts(int64_t layer) const {
    return experts && layer >= experts->dense_layers && (layer + 1) % experts->step == 0;
  }
  // Widths of queries, and of the row that a layer's first projection computes: queries or their latent, then keys and
  // values or their latent.
  int64_t query_width() const { return latent ? heads * (latent->nope + latent->rope) : q_width(); }
  int64_t projected_width() const {
    if (!latent) return qkv_width();
    return (latent->query_rank > 0 ? latent->query_rank : query_width()) + head_dim;
  }
  int64_t attended_width() const { return heads * (latent ? latent->value : head_dim_v); }  // input of attention_output
  int64_t q_width() const { return heads * head_dim; }
  int64_t k_width() const { return kv_heads * head_dim; }
  int64_t v_width() const { return kv_heads * head_dim_v; }
  int64_t qkv_width() const { return q_width() + k_width() + v_width(); }
  bool operator==(const ModelConfig&) const = default;
};

}  // namespace tandem
