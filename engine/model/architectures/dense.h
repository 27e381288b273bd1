// Decoders of grouped-query attention and one gated feed-forward network, or a mixture of them, per layer. The
// architectures of this family differ in their rotation's layout, their biases, norms, windows and scales.
#pragma once

#include <cstdint>

#include "engine/model/architecture.h"

namespace tandem {

// Biases as the first layer of the file has them; the loader insists on the same in every layer.
void read_attention_biases(const GgufFile& file, ModelConfig& config);

// q, k, v, gate and up in tensors of their own; in the place of the latter experts, in the layers that have them.
LayerSpec dense_layer(const ModelConfig& config, int64_t index);

}  // namespace tandem
