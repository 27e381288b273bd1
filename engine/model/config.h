// The shapes and constants of a decoder model: all that graph, planner and model clock need (a shape-only model is just
// this).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/tensor/activation.h"

namespace tandem {

enum class RopeScaling : uint8_t { none, linear, yarn, frequency_factors };

// How positions turn q and k.
struct RopeConfig {
  bool halves = false;  // pairs (i, i + dim / 2), else neighbours
  int64_t dim = 0;      // of each head's values the first that are turned; 0: none
  float base = 10000.0f;
  RopeScaling scaling = RopeScaling::none;
  float scale_factor = 1.0f;
  int64_t original_context = 0;
  float attention_factor = 1.0f;
  float yarn_beta_fast = 32.0f, yarn_beta_slow = 1.0f;
  std::vector<float> frequency_factors;  // [dim / 2] or empty
};

struct ModelConfig {
  std::string architecture;  // "llama"
  std::string name;
  int64_t layers = 0;
  int64_t hidden = 0;        // H
  int64_t feed_forward = 0;  // I
  int64_t heads = 0, kv_heads = 0;
  int64_t head_dim = 0;  // of keys and queries
  int64_t head_dim_v = 0;
  int64_t vocabulary = 0;
  int64_t context_length = 0;  // trained
  float norm_eps = 1e-5f;
  RopeConfig rope;
  // Attention to a window: a token of such a layer sees the last `window` positions, itself included.
  int64_t window = 0;                     // 0: no layer has one
  std::vector<bool> has_window;           // [layers]; empty: all have it, if there is a window
  std::optional<RopeConfig> window_rope;  // of those layers, where it is another one
  // What a layer has
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;     // RMSNorm per head on q and k
  bool post_norms = false;  // RMSNorm on what a block adds to the residual stream
  Activation activation = Activation::silu;
  bool tied_output = false;
  // Factors: on the embeddings, on what a block adds to the residual stream, on the logits.
  float embedding_scale = 1.0f, residual_scale = 1.0f, logit_scale = 1.0f;
  float given_attention_scale = 0.0f;  // 0: that of head_dim

  // Factor on the scores before the softmax.
  float attention_scale() const {
    return given_attention_scale != 0.0f ? given_attention_scale : 1.0f / std::sqrt(static_cast<float>(head_dim));
  }
  // Positions that a token of the layer sees at most; 0: all.
  int64_t window_of(int64_t layer) const {
    return has_window.empty() || has_window[static_cast<size_t>(layer)] ? window : 0;
  }
  int64_t q_width() const { return heads * head_dim; }
  int64_t k_width() const { return kv_heads * head_dim; }
  int64_t v_width() const { return kv_heads * head_dim_v; }
  int64_t qkv_width() const { return q_width() + k_width() + v_width(); }
};

}  // namespace tandem
