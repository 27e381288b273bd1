// The parts of a decoder layer, listed once. LayerSpec has their names in a file, LayerWeights their places in memory.
// A model of shapes alone uses the same form.
#pragma once

namespace tandem {

// A Vector that an architecture does not have stays empty, and so does a Group or a Stack without matrices. A Group
// holds matrices that are multiplied with the same input. A Stack holds one matrix for each expert, or for each head.
template <typename Vector, typename Group, typename Stack>
struct LayerParts {
  Vector attention_norm;            // [H]
  Vector attention_norm_bias;       // [H]
  Group qkv;                        // [q_width + k_width + v_width, H]; in latent attention [projected_width, H]
  Vector query_norm;                // [query_rank], for the latent of queries
  Group query_up;                   // [query_width, query_rank]: turns that latent into queries
  Vector q_norm, k_norm;            // [head_dim], for every head of q and of k; of each head; or of all together
  Vector attention_sinks;           // [heads]
  Vector latent_norm;               // [rank], for the latent that latent attention stores
  Stack key_up;                     // for each head [rank, nope]: turns a query into one for latents
  Stack value_up;                   // for each head [value, rank]: turns attention's result into a value
  Group attention_output;           // [H, heads * head_dim_v]
  Vector attention_post_norm;       // [H], for what attention adds to the residual stream, or for the sum of both
  Vector attention_post_norm_bias;  // [H]
  Vector ffn_norm;                  // [H]
  Vector ffn_norm_bias;             // [H]
  Group gate_up;         // [2 I, H]: gate rows, then up rows; in a mixture of experts, the shared experts' rows
                         // without a gate [I, H]
  Group down;            // [H, I]
  Group router;          // [experts, H] scores, and below them [1, H] of the shared experts' gate
  Vector router_bias;    // [experts], which enters choices and no weights
  Stack expert_gate_up;  // for each expert [2 I, H]
  Vector expert_gate_bias, expert_up_bias;  // [experts, I]; or the first alone with both, [experts, 2 I]
  Stack expert_down;                        // for each expert [H, I]
  Vector expert_down_bias;                  // [experts, H]
  Vector ffn_post_norm;                     // [H], for what the feed-forward network adds, or for the sum
  Vector ffn_post_norm_bias;                // [H]
};

// Joins a function of vectors, one of groups and one of stacks into one object for each_part().
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// Calls each(part, ...) with the same part of every layer, in the order in which a token uses the parts.
template <typename Each, typename... Layers>
void each_part(const Each& each, Layers&... layers) {
  each(layers.attention_norm...);
  each(layers.attention_norm_bias...);
  each(layers.qkv...);
  each(layers.query_norm...);
  each(layers.query_up...);
  each(layers.q_norm...);
  each(layers.k_norm...);
  each(layers.attention_sinks...);
  each(layers.latent_norm...);
  each(layers.key_up...);
  each(layers.value_up...);
  each(layers.attention_output...);
  each(layers.attention_post_norm...);
  each(layers.attention_post_norm_bias...);
  each(layers.ffn_norm...);
  each(layers.ffn_norm_bias...);
  each(layers.gate_up...);
  each(layers.down...);
  each(layers.router...);
  each(layers.router_bias...);
  each(layers.expert_gate_up...);
  each(layers.expert_gate_bias...);
  each(layers.expert_up_bias...);
  each(layers.expert_down...);
  each(layers.expert_down_bias...);
  each(layers.ffn_post_norm...);
  each(layers.ffn_post_norm_bias...);
}

}  // namespace tandem
