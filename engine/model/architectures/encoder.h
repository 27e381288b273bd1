// Layers of encoders: attention without a mask, and a norm behind each sum of the residual stream and a block's result.
// Architectures of this family differ in how positions enter, in their biases and in their feed-forward networks.
#pragma once

#include "engine/model/architectures/dense.h"

namespace tandem {

// Sets what all encoders have.
void describe_encoder(ModelConfig& config);
// Finds how many types of tokens, and how many embeddings of positions, the file has.
void read_embeddings(const GgufFile& file, ModelConfig& config);
// A dense layer with the names that encoders have for their norms.
LayerSpec encoder_layer(const ModelConfig& config, int64_t index);

}  // namespace tandem
