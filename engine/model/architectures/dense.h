// Decoders with one gated feed-forward network per layer: grouped-query attention, RMSNorm, RoPE, SwiGLU. The
// architectures of this family differ in their rotation's layout, their biases and their head norms.
#pragma once

#include <cstdint>

#include "engine/model/architecture.h"

namespace tandem {

ModelConfig read_llama(const GgufFile& file);
ModelConfig read_internlm2(const GgufFile& file);
ModelConfig read_qwen2(const GgufFile& file);
ModelConfig read_qwen3(const GgufFile& file);

// The keys that all of them have. Error: a key is missing, out of range or contradicts another, or asks for a
// computation that no dense architecture here does.
ModelConfig read_dense(const GgufFile& file);
// Biases as the first layer of the file has them; the loader insists on the same in every layer.
void read_attention_biases(const GgufFile& file, ModelConfig& config);

LayerSpec dense_layer(const ModelConfig& config, int64_t index);

}  // namespace tandem
