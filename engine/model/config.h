// The shapes and constants of a decoder model: all that graph, planner and model clock need (a shape-only model is just
// this).
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

enum class RopeScaling : uint8_t { none, linear, yarn, frequency_factors };

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
  // RoPE
  bool rope_halves = false;  // else interleaved pairs
  int64_t rope_dim = 0;
  float rope_base = 10000.0f;
  RopeScaling rope_scaling = RopeScaling::none;
  float rope_scale_factor = 1.0f;
  int64_t rope_original_context = 0;
  float rope_attention_factor = 1.0f;
  float yarn_beta_fast = 32.0f, yarn_beta_slow = 1.0f;
  std::vector<float> rope_frequency_factors;  // [rope_dim / 2] or empty
  // What a layer has
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;  // RMSNorm per head on q and k
  bool tied_output = false;

  // Factor on the scores before the softmax.
  float attention_scale() const { return 1.0f / std::sqrt(static_cast<float>(head_dim)); }
  int64_t q_width() const { return heads * head_dim; }
  int64_t k_width() const { return kv_heads * head_dim; }
  int64_t v_width() const { return kv_heads * head_dim_v; }
  int64_t qkv_width() const { return q_width() + k_width() + v_width(); }
};

}  // namespace tandem
