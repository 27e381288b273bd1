// Decoder layers with grouped-query attention and one feed-forward network, or a mixture of experts. Architectures of
// this family differ in the rotation's layout, their biases, norms, windows and scales. Some have no gate.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/architecture.h"

namespace tandem {

// Sets the biases that the first layer of the file has. The loader requires the same in every layer.
void read_attention_biases(const GgufFile& file, ModelConfig& config);

// Sets these, and those of the feed-forward network; finds whether one tensor has q, k and v.
void read_biases(const GgufFile& file, ModelConfig& config);

// Sets whether the first layer with experts has a bias for choosing them.
void read_choice_bias(const GgufFile& file, ModelConfig& config);

// Sets the width of experts where no key states it and feed_forward_length is that of a token's experts together. The
// first files of Qwen's mixtures are such.
void read_expert_width(const GgufFile& file, ModelConfig& config);

// Sets whether q and k have a LayerNorm for each head, as the first layer has.
void read_head_norms(const GgufFile& file, ModelConfig& config);

// For ModelConfig::has_window and has_rope: true in all layers but the last one of each period.
std::vector<bool> all_but_every(int64_t layers, int64_t period);
// The same rotation with another base and without a scaling.
RopeConfig unscaled(const RopeConfig& rope, float base);

// A layer with separate tensors for gate and up, or up alone. Layers with experts have these instead. q, k and v are
// separate too, unless ModelConfig::joined_qkv.
LayerSpec dense_layer(const ModelConfig& config, int64_t index);

}  // namespace tandem
