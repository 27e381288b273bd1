// The parts of a decoder layer, listed once. What a file calls them (LayerSpec), where they lie in memory
// (LayerWeights) and what a model of shapes alone knows of them are lists of this one form.
#pragma once

namespace tandem {

// A Vector that an architecture does not have, and a Group without matrices, stay empty.
template <typename Vector, typename Group>
struct LayerParts {
  Vector attention_norm;       // [H]
  Group qkv;                   // [q_width + k_width + v_width, H]
  Vector q_norm, k_norm;       // [head_dim], of every head of q and of k
  Group attention_output;      // [H, heads * head_dim_v]
  Vector attention_post_norm;  // [H], of what attention adds to the residual stream
  Vector ffn_norm;             // [H]
  Group gate_up;               // [2 I, H]: gate rows, then up rows
  Group down;                  // [H, I]
  Vector ffn_post_norm;        // [H], of what the feed-forward network adds
};

// A function of vectors and one of groups, as each_part() wants them.
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
  each(layers.qkv...);
  each(layers.q_norm...);
  each(layers.k_norm...);
  each(layers.attention_output...);
  each(layers.attention_post_norm...);
  each(layers.ffn_norm...);
  each(layers.gate_up...);
  each(layers.down...);
  each(layers.ffn_post_norm...);
}

}  // namespace tandem
