// The parts of a decoder layer, listed once. What a file calls them (LayerSpec), where they lie in memory
// (LayerWeights) and what a model of shapes alone knows of them are lists of this one form.
#pragma once

namespace tandem {

// A Vector that an architecture does not have, and a Group or a Stack without matrices, stay empty. A Group is matrices
// that are multiplied with the same input; a Stack holds one matrix for each expert, or for each head.
template <typename Vector, typename Group, typename Stack>
struct LayerParts {
  Vector attention_norm;       // [H]
  Vector attention_norm_bias;  // [H]
  Group qkv;                   // [q_width + k_width + v_width, H]; of latent attention [query_width + rank + rope, H]
  Vector q_norm, k_norm;       // [head_dim], of every head of q and of k; or of all heads together
  Vector latent_norm;          // [rank], of the latent that latent attention keeps
  Stack key_up;                // of each head [rank, nope]: a query becomes one for latents
  Stack value_up;              // of each head [value, rank]: what was attended to becomes a value
  Group attention_output;      // [H, heads * head_dim_v]
  Vector attention_post_norm;  // [H], of what attention adds to the residual stream
  Vector ffn_norm;             // [H]
  Vector ffn_norm_bias;        // [H]
  Group gate_up;               // [2 I, H]: gate rows, then up rows; in a mixture of experts, of the shared ones
  Group down;                  // [H, I]
  Group router;                // [experts, H] scores, and below them [1, H] of the shared experts' gate
  Stack expert_gate_up;        // of each expert [2 I, H]
  Stack expert_down;           // of each expert [H, I]
  Vector ffn_post_norm;        // [H], of what the feed-forward network adds
};

// A function of vectors, one of groups and one of stacks, as each_part() wants them.
template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// Calls each(part, ...) with the same part of every layer given, in the order in which a token uses them.
template <typename Each, typename... Layers>
void each_part(const Each& each, Layers&... layers) {
  each(layers.attention_norm...);
  each(layers.attention_norm_bias...);
  each(layers.qkv...);
  each(layers.q_norm...);
  each(layers.k_norm...);
  each(layers.latent_norm...);
  each(layers.key_up...);
  each(layers.value_up...);
  each(layers.attention_output...);
  each(layers.attention_post_norm...);
  each(layers.ffn_norm...);
  each(layers.ffn_norm_bias...);
  each(layers.gate_up...);
  each(layers.down...);
  each(layers.router...);
  each(layers.expert_gate_up...);
  each(layers.expert_down...);
  each(layers.ffn_post_norm...);
}

}  // namespace tandem
